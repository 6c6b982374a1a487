"""Run samples through a model that ModelOpt watches, so that every scale is found."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from controlplane.clock import SYSTEM, Clock
from workers.build_steps.environment import SAMPLES_GATE
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.forward import run_batch
from workers.build_steps.quantization.loading import Device
from workers.build_steps.quantization.modelopt import logged_warnings, quantize
from workers.build_steps.quantization.recipes import ModelOptConfig
from workers.build_steps.time_left import Pace
from workers.engine.rounding import NVFP4_BLOCK
from workers.gates import pass_gate

_NOT_FINITE = re.compile(r"detected (nan|inf) values in amax")
"""What ModelOpt says when a calibrator sees them; it names no layer."""

_NOTHING_ENABLED = "no weight quantizer is enabled"
"""What ModelOpt says when its patterns match no layer."""

OnSamples = Callable[[int, int, float | None], None]
"""Called with samples done, samples in all, and the seconds that are left."""


class NothingToQuantizeError(Exception):
    """The config names no layer that this model has."""


def calibrate(
    model: nn.Module,
    config: ModelOptConfig,
    samples: Sequence[Sequence[int]],
    *,
    device: Device,
    on_samples: OnSamples,
    passes: int = 1,
    clock: Clock = SYSTEM,
) -> nn.Module:
    """Return the model with quantizers whose scales come from the samples, in so many passes.

    Without a pass they come from the weights alone.

    Raises NothingToQuantizeError, and StepFailure for numbers or widths that cannot be.
    """
    forward = _Forward(samples, device, on_samples, passes, clock)
    try:
        with logged_warnings(), torch.inference_mode():
            quantized: nn.Module = quantize(model, config.config, forward if passes else None)
    except AssertionError as error:
        if _NOT_FINITE.search(str(error)):
            raise failures.not_finite(_not_finite(model) or ["an activation"]) from error
        raise
    except RuntimeError as error:
        if _NOTHING_ENABLED in str(error):
            raise NothingToQuantizeError from error
        raise
    return quantized


def batches(samples: Sequence[Sequence[int]], tokens: int) -> Iterator[Sequence[Sequence[int]]]:
    """Return groups of equally long samples, so that no padding is ever calibrated on."""
    by_length: dict[int, list[Sequence[int]]] = {}
    for sample in samples:
        by_length.setdefault(len(sample), []).append(sample)
    for length, group in by_length.items():
        size = max(1, tokens // length)
        for first in range(0, len(group), size):
            yield group[first : first + size]


class _Forward:
    """Feeds the samples; on a full GPU, in smaller and smaller batches."""

    def __init__(
        self,
        samples: Sequence[Sequence[int]],
        device: Device,
        on_samples: OnSamples,
        passes: int,
        clock: Clock,
    ) -> None:
        self._total, self._done = len(samples) * passes, 0
        self._pace: Pace | None = None
        self._samples, self._device, self._on_samples = samples, device, on_samples
        self._clock = clock
        self._tokens = device.batch_tokens
        self._choices: Mapping[str, Any] = {}

    def __call__(self, model: nn.Module) -> None:
        _refuse_odd_widths(model)
        self._choices = without_logits(model)
        if self._pace is None:
            self._pace = Pace(self._total, clock=self._clock)
            self._on_samples(0, self._total, None)
        for batch in batches(self._samples, self._tokens):
            self._run(model, batch)
            self._done += len(batch)
            self._on_samples(self._done, self._total, self._pace.seconds_left(self._done))
            pass_gate(SAMPLES_GATE)

    def _run(self, model: nn.Module, batch: Sequence[Sequence[int]]) -> None:
        size = max(1, min(len(batch), self._tokens // len(batch[0])))
        try:
            for first in range(0, len(batch), size):
                run_batch(model, batch[first : first + size], **self._choices)
        except torch.OutOfMemoryError as error:
            if size == 1:
                raise failures.no_device_memory(str(error), torch.cuda.device_count()) from error
            self._tokens = len(batch[0]) * (size // 2)
        else:
            return
        torch.cuda.empty_cache()
        self._run(model, batch)  # seen twice or once, the largest value is the same


def without_logits(model: Any) -> Mapping[str, Any]:
    """Return what spares a model all logits but the last, where no scale comes from them.

    Of a small model with many tokens they are a fifth of the work, and much of the memory.
    """
    if "logits_to_keep" not in inspect.signature(model.forward).parameters:
        return {}
    quantizer = getattr(model.get_output_embeddings(), "input_quantizer", None)
    return {} if quantizer is not None and quantizer.is_enabled else {"logits_to_keep": 1}


def _refuse_odd_widths(model: nn.Module) -> None:
    """Raise StepFailure before the first sample for what the export could not write."""
    odd = []
    for name, module in model.named_modules():
        quantizer, weight = (
            getattr(module, "weight_quantizer", None),
            getattr(module, "weight", None),
        )
        if quantizer is None or not quantizer.is_enabled or not isinstance(weight, Tensor):
            continue
        block = (quantizer.block_sizes or {}).get(-1)
        if block and weight.shape[-1] % block:
            odd.append(name)
    if odd:
        raise failures.odd_width(odd, NVFP4_BLOCK)


def _not_finite(model: nn.Module) -> list[str]:
    return [
        name
        for name, parameter in model.named_parameters()
        if not bool(torch.isfinite(parameter).all())
    ]

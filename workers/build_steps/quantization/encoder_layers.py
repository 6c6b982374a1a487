"""The layers of a calibrated encoder that lose most by FP8 stay in 16 bits."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from controlplane.domain.facts.quantization import FP8
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.samples import Sample
from workers.build_steps.events import Events
from workers.build_steps.gating.heads import Heads, batch_of, find_heads
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import Device
from workers.build_steps.quantization.sensitivity import Bar, Kept, Quantized, keep_sensitive


def keeps_layers(spec: Spec, checkpoint: Checkpoint) -> bool:
    """Return whether a build looks for layers that are to stay in 16 bits."""
    number = spec.quantization_type.precision.weights
    return checkpoint.is_encoder and number is FP8 and bool(_least_cosine(spec))


def keep_layers(
    spec: Spec,
    checkpoint: Checkpoint,
    model: nn.Module,
    samples: Sequence[Sample],
    device: Device,
    dtype: torch.dtype,
    events: Events,
) -> Kept | None:
    """Switch off the quantizers of as few layers as keep the answers near, and return which.

    Without samples to choose by, none are looked for.
    """
    if not samples:
        return None
    heads = find_heads(checkpoint, device, dtype, spec.settings.rerank_template)
    bar = Bar(least_cosine=_least_cosine(spec), most_changed=spec.settings.gate.max_agreement_loss)
    quantized = Quantized(
        layers=_quantized_layers(model), switch=_switch, has_labels=heads.labels is not None,
        answer=_answering(model, heads, events),
    )  # fmt: skip
    return keep_sensitive(quantized, [each.tokens for each in samples], bar)


def _least_cosine(spec: Spec) -> float:
    return spec.settings.calibration.encoder_least_cosine


def _answering(model: Any, heads: Heads, events: Events) -> Callable[[Sequence[int]], Tensor]:
    place, done = next(model.parameters()).device, count(1)

    def answer(tokens: Sequence[int]) -> Tensor:
        events.progress(next(done), None, "answers, to choose layers by")
        with torch.inference_mode():
            batch = batch_of(model, torch.tensor(tokens, device=place))
            scores = heads.scores(model, batch)
            return (heads.vector(model, batch) if scores is None else scores).float().cpu()

    return answer


def _quantized_layers(model: nn.Module) -> dict[str, nn.Module]:
    return {
        name: each
        for name, each in model.named_modules()
        if isinstance(each, nn.Linear) and _is_quantized(each)
    }


def _is_quantized(layer: Any) -> bool:
    quantizer = getattr(layer, "weight_quantizer", None)
    return quantizer is not None and bool(quantizer.is_enabled)


def _switch(layer: Any, is_quantized: bool) -> None:
    for quantizer in (layer.weight_quantizer, layer.input_quantizer):
        if is_quantized:
            quantizer.enable()
        else:
            quantizer.disable()

"""The exported tensors as a runtime runs them: real scales, emulated numbers.

The settings are the original's; that the exported ones are the same is `descriptions` to check.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from controlplane.domain.failures import Blame
from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.declaration import check_layers, read_declared
from workers.build_steps.gating.experts import emulate_experts
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.exported import (
    BLOCK_SCALE,
    PACKED_WEIGHT,
    headers,
    modules_with,
)
from workers.build_steps.quantization.loading import Device, load_model
from workers.build_steps.quantization.renaming import class_names
from workers.engine.quantized import PlainCheckpoint, dequantize, emulate_inputs
from workers.engine.rounding import (
    Rounding,
    round_blocks_to_fp8,
    round_rows_to_fp8,
    round_to_fp8,
)
from workers.engine.scheme import Inputs

_WHILE_SERVING: Mapping[Inputs, tuple[str, Rounding]] = {
    Inputs.PER_TOKEN: (PACKED_WEIGHT, round_rows_to_fp8),
    Inputs.PER_BLOCK: (BLOCK_SCALE, round_blocks_to_fp8),
}
"""What tells a module whose inputs are rounded, and how they are."""
_ROUNDED_CACHE = "enginehouse_rounded_cache"
_ROUNDED_CACHE_EAGER = "enginehouse_rounded_cache_eager"
"""For models that cap their scores or add to them, which the fast attention cannot."""


def load_as_served(
    original: Checkpoint, folder: Path, *, device: Device, dtype: torch.dtype
) -> nn.Module:
    """Return the model of an exported folder; inputs and KV cache are rounded as on the GPU.

    Raises StepFailure when a scale belongs to nothing, a tensor is missing, or a layer is not what
    the files declare. The original has been loaded before: what fails here is the export's fault.
    """
    plain = _with_inputs(dequantize(_read(folder), dtype), folder)
    choices: dict[str, Any] = {}
    if plain.key_scales:
        choices["attn_implementation"] = _attention(original)
    if any(".experts." in name for name in plain.roundings):
        # The other forms hand all experts to one kernel, in which nothing can be rounded.
        choices["experts_implementation"] = "eager"
    model = _load(original, device=device, dtype=dtype, weights=plain.weights, **choices)
    named = class_names(model)
    check_layers(model, folder, named)
    plain = _as_loaded(plain, named)
    plain = emulate_experts(model, plain)
    if left := emulate_inputs(model, plain):
        raise StepFailure.of(gate.SCALE_UNUSED, name=left[0])
    _emulate_cache(model, plain)
    return model


def _with_inputs(plain: PlainCheckpoint, folder: Path) -> PlainCheckpoint:
    """Return the checkpoint with the inputs whose scales engines find while they serve."""
    if (served_inputs := _WHILE_SERVING.get(read_declared(folder).inputs)) is None:
        return plain
    tensor, rounding = served_inputs
    return replace(plain, roundings=dict.fromkeys(modules_with(folder, tensor), rounding))


def _load(original: Checkpoint, **choices: Any) -> nn.Module:
    try:
        return load_model(original, refuse_unread=_unknown_to(original), **choices)
    except StepFailure as error:
        if error.failure.blame is not Blame.CHECKPOINT:
            raise
        raise failures.not_whole(error.failure.sentence) from error


def _unknown_to(original: Checkpoint) -> Callable[[Iterable[str]], None]:
    """Return what refuses tensors that neither the class nor the original's files have."""

    def refuse(unread: Iterable[str]) -> None:
        known = {name for name, _, _ in headers(original.folder)}
        if unknown := sorted(set(unread) - known):
            raise StepFailure.of(gate.TENSOR_UNKNOWN, name=unknown[0])

    return refuse


def _attention(original: Checkpoint) -> str:
    config = json.loads((original.folder / "config.json").read_bytes())
    plain = original.model_class._supports_sdpa and not config.get("attn_logit_softcapping")
    return _ROUNDED_CACHE if plain else _ROUNDED_CACHE_EAGER


def _read(folder: Path) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    return tensors


def _as_loaded(plain: PlainCheckpoint, named: Callable[[str], str]) -> PlainCheckpoint:
    return replace(
        plain,
        roundings={named(name): each for name, each in plain.roundings.items()},
        key_scales={named(name): each for name, each in plain.key_scales.items()},
        value_scales={named(name): each for name, each in plain.value_scales.items()},
    )


def _emulate_cache(model: nn.Module, plain: PlainCheckpoint) -> None:
    modules = dict(model.named_modules())
    for name, scale in plain.key_scales.items():
        if name not in modules or name not in plain.value_scales:
            raise StepFailure.of(gate.SCALE_UNUSED, name=name)
        attention: Any = modules[name]
        attention.cache_scales = (scale, plain.value_scales[name])


def _rounded_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **named: Any
) -> Any:
    attend = ALL_ATTENTION_FUNCTIONS["sdpa"]
    return attend(module, query, *_cached(module, key, value), mask, **named)


def _rounded_attention_eager(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **named: Any
) -> Any:
    attend = vars(sys.modules[type(module).__module__])["eager_attention_forward"]
    return attend(module, query, *_cached(module, key, value), mask, **named)


def _cached(module: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    key_scale, value_scale = module.cache_scales
    return round_to_fp8(key, key_scale), round_to_fp8(value, value_scale)


AttentionInterface.register(_ROUNDED_CACHE, _rounded_attention)
AttentionMaskInterface.register(_ROUNDED_CACHE, sdpa_mask)
AttentionInterface.register(_ROUNDED_CACHE_EAGER, _rounded_attention_eager)
AttentionMaskInterface.register(_ROUNDED_CACHE_EAGER, eager_mask)
transformers.utils.logging.disable_progress_bar()

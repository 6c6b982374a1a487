"""A quantized checkpoint on hardware that has no such numbers.

Emulated as the kernels of a GPU do it: weights keep the values that their stored numbers have;
a quantized layer's input is rounded by the exported scale (or one per token, where the checkpoint
asks for that); keys and values are rounded by theirs as they enter an FP8 cache. Not emulated:
products are summed in the type that the engine computes in, and the queries and softmax weights
of an FP8 attention kernel stay unrounded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from workers.engine.checkpoint_folder import refusing_config
from workers.engine.errors import CheckpointRefused
from workers.engine.kv_cache import CacheScales
from workers.engine.quantized import PlainCheckpoint, dequantize, emulate_inputs
from workers.engine.rounding import (
    FixedRounding,
    Rounding,
    round_blocks_to_fp8,
    round_rows_to_fp8,
)
from workers.engine.scales import Torn, check_scales
from workers.engine.scheme import Inputs, Number, Scheme
from workers.engine.stored_tensors import StoredTensors
from workers.engine.whole import refuse_unfit

_BLOCKS = (Number.NVFP4, Number.MIXED)
_WHILE_SERVING: Mapping[Inputs, Rounding] = {
    Inputs.PER_TOKEN: round_rows_to_fp8,
    Inputs.PER_BLOCK: round_blocks_to_fp8,
}
"""Where no scale of an input is exported."""


@dataclass(frozen=True, kw_only=True)
class Fp8Scales:
    """What the stored numbers of a layer are multiplied by."""

    weight: Tensor
    """One number, or one for each row."""
    input: Tensor | None
    """One number of the calibration; none where each token has its own."""


@dataclass(frozen=True, kw_only=True)
class EmulatedModel:
    """A model that rounds as a GPU would, and what of it is emulated, in words."""

    module: nn.Module
    cache_scales: tuple[CacheScales, ...] = ()
    """One per layer, or none at all."""
    emulated: tuple[str, ...] = ()
    fp8: Mapping[str, Fp8Scales] = field(default_factory=dict)
    """Layers whose weights and inputs are FP8, which some devices multiply as they are."""


def load_emulated(
    model_class: Any, folder: Path, scheme: Scheme, *, dtype: torch.dtype, attention: str
) -> EmulatedModel:
    """Read the folder into a model. Raises: `CheckpointRefused` that names what is wrong."""
    stored = StoredTensors(folder)
    quantized = check_scales(stored, scheme)
    plain = dequantize(stored, dtype)
    if scheme.inputs is not Inputs.EXPORTED:
        plain.roundings.clear()
    if rounding := _WHILE_SERVING.get(scheme.inputs):
        plain.roundings.update(dict.fromkeys(quantized, rounding))
    module = _build(model_class, folder, plain.weights, dtype, attention)
    plain.weights.clear()
    _check_layers(module, quantized, scheme)
    if left := emulate_inputs(module, plain):
        raise Torn(f"`{left[0]}.input_scale` belongs to no layer.")
    return EmulatedModel(
        module=module,
        cache_scales=tuple(_cache_scales(module, plain)) if scheme.has_fp8_cache else (),
        emulated=tuple(_words(scheme, len(quantized), dtype)),
        fp8={} if scheme.inputs is Inputs.UNTOUCHED else dict(_fp8_scales(plain)),
    )


def _fp8_scales(plain: PlainCheckpoint) -> Iterator[tuple[str, Fp8Scales]]:
    for name, scale in plain.fp8_scales.items():
        rounding = plain.roundings[name]
        given = rounding.scale if isinstance(rounding, FixedRounding) else None
        yield name, Fp8Scales(weight=scale, input=given)


def _build(
    model_class: Any,
    folder: Path,
    weights: Mapping[str, Tensor],
    dtype: torch.dtype,
    attention: str,
) -> nn.Module:
    with refusing_config(folder, model_class):
        config = transformers.AutoConfig.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
        if hasattr(config, "quantization_config"):
            del config.quantization_config  # the weights are plain by now
        module, report = model_class.from_pretrained(
            None, config=config, state_dict=weights, dtype=dtype, attn_implementation=attention,
            local_files_only=True, output_loading_info=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    refuse_unfit(module, report)
    if (folder / "generation_config.json").exists():
        # Without a folder of its own the class has only guessed them.
        with refusing_config(folder, transformers.GenerationConfig, "generation_config.json"):
            module.generation_config = transformers.GenerationConfig.from_pretrained(folder)
    built: nn.Module = module
    return built


def _check_layers(module: Any, quantized: frozenset[str], scheme: Scheme) -> None:
    """Refuse layers that an engine on a GPU would read as something else than they are."""
    for name, layer in module.named_modules():
        if not isinstance(layer, nn.Linear):
            continue
        is_tied = layer.weight is module.get_input_embeddings().weight
        if name in quantized and scheme.excludes(name):
            raise Torn(
                f"`{name}` is quantized, and the checkpoint's list of layers that are not names it."
            )
        if name not in quantized and not scheme.excludes(name) and not is_tied:
            raise Torn(
                f"`{name}` is not quantized, and the checkpoint's list of such layers does not "
                "name it."
            )


def _cache_scales(module: nn.Module, plain: PlainCheckpoint) -> Iterator[CacheScales]:
    layers = {
        layer.layer_idx: name
        for name, layer in module.named_modules()
        if hasattr(layer, "k_proj") and hasattr(layer, "layer_idx")
    }
    if not layers:
        raise CheckpointRefused(
            f"The KV cache is FP8, and `{type(module).__name__}` has no projection of keys alone "
            "whose scale could be read. Build it without the FP8 cache."
        )
    for _, name in sorted(layers.items()):
        for scales, kind in ((plain.key_scales, "k"), (plain.value_scales, "v")):
            if name not in scales:
                raise Torn(
                    f"The KV cache is FP8, and there is no `{name}.{kind}_proj.{kind}_scale`."
                )
        yield CacheScales(keys=plain.key_scales[name], values=plain.value_scales[name])


def _words(scheme: Scheme, layers: int, dtype: torch.dtype) -> Iterator[str]:
    kept = str(dtype).removeprefix("torch.")
    yield f"{scheme.number} weights of {layers} layers are expanded to {kept} when they are loaded"
    if scheme.inputs is not Inputs.UNTOUCHED:
        blocks = " in blocks of 16" if scheme.number in _BLOCKS else ""
        source = "exported" if scheme.inputs is Inputs.EXPORTED else "each token's own"
        blocks = " by 128 of a token" if scheme.inputs is Inputs.PER_BLOCK else blocks
        is_other = scheme.number in (Number.INT4, Number.FP8_BLOCKS)
        number = Number.FP8 if is_other else scheme.number
        yield f"inputs of these layers are rounded to {number}{blocks} with {source} scales"
    if scheme.has_fp8_cache:
        yield f"keys and values are rounded to FP8 with exported scales and kept in {kept}"

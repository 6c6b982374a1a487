"""Quantized checkpoints as plain numbers: what ModelOpt exported, without its quantization.

A CPU has neither FP8 nor FP4. Weights are turned back into ordinary tensors once; inputs and the
KV cache are rounded to the same grid at each step, so that answers are those of the real kernels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from workers.engine.packed_integers import dequantize_integers
from workers.engine.rounding import FP8_BLOCK, NVFP4_BLOCK, FixedRounding, Rounding

_E2M1_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


class BrokenQuantization(ValueError):
    """The tensors of a quantized checkpoint do not belong together; says which and how."""


@dataclass(frozen=True, kw_only=True)
class PlainCheckpoint:
    """A quantized checkpoint without its quantization, and the scales to emulate it with."""

    weights: dict[str, Tensor] = field(default_factory=dict)
    """Every tensor that the model class knows, under its own name."""
    roundings: dict[str, Rounding] = field(default_factory=dict)
    """Module name -> what its input goes through before the product."""
    key_scales: dict[str, Tensor] = field(default_factory=dict)
    """Attention module -> scale of the keys in its FP8 cache."""
    value_scales: dict[str, Tensor] = field(default_factory=dict)
    fp8_scales: dict[str, Tensor] = field(default_factory=dict)
    """Module name -> what its FP8 weight was multiplied by."""


def dequantize(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> PlainCheckpoint:
    """Return the tensors of an FP8, NVFP4 or packed INT4 folder as `dtype`, with their scales."""
    plain = PlainCheckpoint()
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        match kind:
            case "input_scale":
                is_fp4 = tensors[f"{module}.weight"].dtype is torch.uint8
                plain.roundings[module] = FixedRounding(scale=tensor, is_fp4=is_fp4)
            case "k_scale" | "v_scale":
                # It lies at the projection that fills the cache; the cache is the attention's.
                scales = plain.key_scales if kind == "k_scale" else plain.value_scales
                scales[module.rpartition(".")[0]] = tensor
            case "weight_scale" | "weight_scale_2" | "weight_scale_inv" | "weight_shape":
                pass  # applied with its weight
            case "weight_packed":
                scale = _needed(tensors, name, f"{module}.weight_scale")
                plain.weights[f"{module}.weight"] = dequantize_integers(tensor, scale).to(dtype)
            case "weight" if tensor.dtype in (torch.float8_e4m3fn, torch.uint8):
                plain.weights[name] = _weight(tensors, module, tensor).to(dtype)
                one_scale = tensors.get(f"{name}_scale")  # blocks of 128 have one each
                if tensor.dtype is torch.float8_e4m3fn and one_scale is not None:
                    plain.fp8_scales[module] = one_scale
            case _:
                plain.weights[name] = tensor.to(dtype) if tensor.is_floating_point() else tensor
    return plain


def dequantize_nvfp4(packed: Tensor, block_scale: Tensor, global_scale: Tensor) -> Tensor:
    """Return an NVFP4 weight as float32: two numbers a byte, the lower half first."""
    codes = torch.stack((packed & 0x0F, packed >> 4), dim=-1).flatten(-2).long()
    table = torch.tensor((*_E2M1_VALUES, *(-value for value in _E2M1_VALUES)), device=packed.device)
    scale = block_scale.float() * global_scale.float()
    blocks = table[codes].unflatten(-1, (-1, NVFP4_BLOCK)) * scale.unsqueeze(-1)
    return blocks.flatten(-2)


def dequantize_blocks(weight: Tensor, scale: Tensor) -> Tensor:
    """Return an FP8 weight as float32; each scale is for 128 rows and columns, or what is left."""
    rows, columns = weight.shape
    wide = scale.float().repeat_interleave(FP8_BLOCK, 0).repeat_interleave(FP8_BLOCK, 1)
    return weight.float() * wide[:rows, :columns]


def emulate_inputs(model: nn.Module, plain: PlainCheckpoint) -> list[str]:
    """Let every quantized module round its input; return the scales that found no module."""
    modules = dict(model.named_modules())
    for name in plain.roundings.keys() & modules.keys():
        modules[name].register_forward_pre_hook(_rounding_hook(plain.roundings[name]))
    return sorted(plain.roundings.keys() - modules.keys())


def _weight(tensors: Mapping[str, Tensor], module: str, weight: Tensor) -> Tensor:
    name = f"{module}.weight"
    if (blocks := tensors.get(f"{name}_scale_inv")) is not None:
        return dequantize_blocks(weight, blocks)
    scale = _needed(tensors, name, f"{name}_scale")
    if weight.dtype is torch.uint8:
        return dequantize_nvfp4(weight, scale, _needed(tensors, name, f"{name}_scale_2"))
    is_one = scale.numel() == 1  # else one per row
    return weight.float() * scale.float().reshape(() if is_one else (-1, 1))


def _needed(tensors: Mapping[str, Tensor], weight: str, scale: str) -> Tensor:
    if (tensor := tensors.get(scale)) is None:
        kind = scale.rpartition(".")[2]
        raise BrokenQuantization(f"`{weight}` is quantized and has no `{kind}`.")
    return tensor


def _rounding_hook(rounding: Rounding) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    return lambda _module, inputs: (rounding(inputs[0]), *inputs[1:])

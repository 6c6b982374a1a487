"""How a GPU with FP8 and NVFP4 would round numbers. Needs torch and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

NVFP4_BLOCK = 16
FP8_BLOCK = 128
_E4M3_LARGEST = 448.0
_E4M3_SMALLEST = 2.0**-9
_SMALLEST_TOKEN_SCALE = 1 / (448.0 * 512.0)
_SMALLEST_BLOCK = 1e-10
"""What a block of smaller numbers is taken to hold, so that its scale is none of zero."""
_E2M1_LARGEST = 6.0

Rounding = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class FixedRounding:
    """Rounding by the one scale that calibration found."""

    scale: Tensor
    is_fp4: bool

    def __call__(self, values: Tensor) -> Tensor:
        return (round_to_nvfp4 if self.is_fp4 else round_to_fp8)(values, self.scale)


def round_to_fp8(values: Tensor, scale: Tensor) -> Tensor:
    """Return the values as an E4M3 tensor with one scale would hold them."""
    scale = scale.to(values.device).float()
    scaled = (values.float() / scale).clamp(-_E4M3_LARGEST, _E4M3_LARGEST)
    return (scaled.to(torch.float8_e4m3fn).float() * scale).to(values.dtype)


def round_rows_to_fp8(values: Tensor) -> Tensor:
    """Return the values as E4M3 with a scale per token, found as the kernel finds it."""
    scale = values.float().abs().amax(-1, keepdim=True) / _E4M3_LARGEST
    return round_to_fp8(values, scale.clamp(min=_SMALLEST_TOKEN_SCALE))


def round_blocks_to_fp8(values: Tensor) -> Tensor:
    """Return the values as E4M3 with a scale for 128 numbers of a token, as the kernel finds it."""
    blocks = values.unflatten(-1, (-1, FP8_BLOCK))
    largest = blocks.float().abs().amax(-1, keepdim=True).clamp(min=_SMALLEST_BLOCK)
    return round_to_fp8(blocks, largest / _E4M3_LARGEST).flatten(-2)


def round_to_nvfp4(values: Tensor, global_scale: Tensor) -> Tensor:
    """Return the values as NVFP4 with a scale per block of 16, found as the kernel finds it."""
    global_scale = global_scale.to(values.device).float()
    blocks = values.float().unflatten(-1, (-1, NVFP4_BLOCK))
    exact_scale = blocks.abs().amax(-1, keepdim=True) / (_E2M1_LARGEST * global_scale)
    stored = exact_scale.clamp(_E4M3_SMALLEST, _E4M3_LARGEST).to(torch.float8_e4m3fn).float()
    scale = stored * global_scale
    return (_round_to_e2m1(blocks / scale) * scale).flatten(-2).to(values.dtype)


def _round_to_e2m1(values: Tensor) -> Tensor:
    """Return the nearest 4-bit float; a tie goes to the even one.

    They lie 0.5 apart up to 2, 1 up to 4 and 2 up to 6, and `round` takes ties to even.
    """
    size = values.abs()
    step = torch.where(size < 2.0, 0.5, torch.where(size < 4.0, 1.0, 2.0))
    rounded = (size / step).round_().mul_(step).clamp_max_(_E2M1_LARGEST)
    return rounded.copysign(values)

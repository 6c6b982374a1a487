"""Inputs to FP8 numbers: by one kernel of ours on a GPU, by several of torch's elsewhere."""

import itertools
import logging
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import gelu

from workers.engine.pooling.packed.cuda_source import load_kernel

FP8 = torch.float8_e4m3fn
LARGEST = 448.0
_SMALLEST_SCALE = 1 / (LARGEST * 512.0)
_THREADS = 256
_NUMBERS_A_THREAD = 8
_STEP = 0.13
"""From one E4M3 number to the next, as a share of it: on a tie each may take another."""
_SOURCE = Path(__file__).with_name("fp8.cu")

Quantize = Callable[[Tensor, Tensor | None, bool], tuple[Tensor, Tensor]]
"""`[tokens, size]`, one scale, or none for one per token, and whether GELU comes first -> FP8
numbers and their scale."""

log = logging.getLogger(__name__)


def find_quantize(device: torch.device) -> Quantize:
    if device.type != "cuda":
        return quantize_plainly
    try:
        return _Kernels(device)
    except Exception as error:  # torch finds the compiler by names that are its own
        log.warning("inputs are rounded to FP8 by torch's kernels, which takes longer: %r", error)
        return quantize_plainly


def quantize_plainly(x: Tensor, scale: Tensor | None, is_gelu: bool) -> tuple[Tensor, Tensor]:
    values = gelu(x.float()) if is_gelu else x.float()
    if scale is None:
        scale = (values.abs().amax(-1, keepdim=True) / LARGEST).clamp(min=_SMALLEST_SCALE)
    return (values / scale).clamp(-LARGEST, LARGEST).to(FP8), scale


class _Kernels:
    """Reads a bfloat16 input once and writes a byte for each of its numbers."""

    def __init__(self, device: torch.device) -> None:
        self._by_tensor = load_kernel(_SOURCE, "by_tensor", device)
        self._by_token = load_kernel(_SOURCE, "by_token", device)
        self._prove(device)

    def __call__(self, x: Tensor, scale: Tensor | None, is_gelu: bool) -> tuple[Tensor, Tensor]:
        if x.dtype is not torch.bfloat16 or x.shape[1] % _NUMBERS_A_THREAD:
            return quantize_plainly(x, scale, is_gelu)
        x = x.contiguous()
        numbers = torch.empty(x.shape, dtype=FP8, device=x.device)
        if scale is None:
            return numbers, self._rounded_by_token(x, numbers, is_gelu)
        pieces = x.numel() // _NUMBERS_A_THREAD
        blocks = (-(-pieces // _THREADS), 1, 1)
        args = [x, scale, numbers, pieces, int(is_gelu)]
        self._by_tensor(grid=blocks, block=(_THREADS, 1, 1), args=args)
        return numbers, scale

    def _prove(self, device: torch.device) -> None:
        """Raises: RuntimeError where they come to something else than torch's own."""
        x = torch.linspace(-9, 9, 37 * 264, device=device).reshape(37, 264).bfloat16()
        given = torch.tensor(0.01, device=device)  # with which some are too large
        for scale, is_gelu in itertools.product((given, None), (False, True)):
            actual, expected = (
                numbers.float() * by
                for numbers, by in (self(x, scale, is_gelu), quantize_plainly(x, scale, is_gelu))
            )
            torch.testing.assert_close(actual, expected, rtol=_STEP, atol=_STEP * 0.01)

    def _rounded_by_token(self, x: Tensor, numbers: Tensor, is_gelu: bool) -> Tensor:
        scales = torch.empty((len(x), 1), dtype=torch.float32, device=x.device)
        pieces = x.shape[1] // _NUMBERS_A_THREAD
        args = [x, scales, numbers, pieces, int(is_gelu)]
        self._by_token(grid=(len(x), 1, 1), block=(_THREADS, 1, 1), args=args)
        return scales

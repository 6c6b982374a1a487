"""Inputs to FP8 numbers: by one kernel of ours on a GPU, by several of torch's elsewhere."""

import ctypes
import itertools
import logging
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu

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
    """Give back the fastest way that this machine has."""
    if device.type != "cuda":
        return quantize_plainly
    try:
        return _Kernels(device)
    except Exception as error:  # torch finds the compiler by names that are its own
        log.warning("inputs are rounded to FP8 by torch's kernels, which takes longer: %r", error)
        return quantize_plainly


def quantize_plainly(x: Tensor, scale: Tensor | None, is_gelu: bool) -> tuple[Tensor, Tensor]:
    """Give back the numbers and their scale by arithmetic that every device has."""
    values = gelu(x.float()) if is_gelu else x.float()
    if scale is None:
        scale = (values.abs().amax(-1, keepdim=True) / LARGEST).clamp(min=_SMALLEST_SCALE)
    return (values / scale).clamp(-LARGEST, LARGEST).to(FP8), scale


class _Kernels:
    """Reads a bfloat16 input once and writes a byte for each of its numbers."""

    def __init__(self, device: torch.device) -> None:
        found = _loaded(torch.cuda.get_device_capability(device))
        self._by_tensor, self._by_token = found["by_tensor"], found["by_token"]
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
            found, expected = (
                numbers.float() * by
                for numbers, by in (self(x, scale, is_gelu), quantize_plainly(x, scale, is_gelu))
            )
            torch.testing.assert_close(found, expected, rtol=_STEP, atol=_STEP * 0.01)

    def _rounded_by_token(self, x: Tensor, numbers: Tensor, is_gelu: bool) -> Tensor:
        scales = torch.empty((len(x), 1), dtype=torch.float32, device=x.device)
        pieces = x.shape[1] // _NUMBERS_A_THREAD
        args = [x, scales, numbers, pieces, int(is_gelu)]
        self._by_token(grid=(len(x), 1, 1), block=(_THREADS, 1, 1), args=args)
        return scales


@lru_cache
def _loaded(capability: tuple[int, int]) -> Any:
    from torch.cuda import _utils

    names = ("_get_gpu_rtc_library", "_get_nvrtc_library")  # of late, and before that
    find = next(getattr(_utils, name) for name in names if hasattr(_utils, name))
    binary = compiled(find(), capability)
    return _utils._cuda_load_module(binary, ["by_tensor", "by_token"])


def compiled(compiler: ctypes.CDLL, capability: tuple[int, int]) -> bytes:
    """Give back the kernels for a capability, by NVIDIA's run-time compiler. Raises: RuntimeError.

    Its own header has nothing that they need, so it looks for none on the machine.
    """
    program = ctypes.c_void_p()
    source = _SOURCE.read_bytes()
    _check(compiler.nvrtcCreateProgram(ctypes.byref(program), source, b"fp8.cu", 0, None, None))
    option = "--gpu-architecture=sm_{}{}".format(*capability).encode()
    failed = compiler.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(option))
    if failed:
        raise RuntimeError(_read(compiler, program, "ProgramLog").decode(errors="replace"))
    return _read(compiler, program, "CUBIN")


def _read(compiler: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(compiler, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(size.value)
    _check(getattr(compiler, f"nvrtcGet{what}")(program, content))
    return content.raw


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"NVRTC answered {status}")

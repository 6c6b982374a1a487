"""Kernels of ours from their source, by NVIDIA's run-time compiler, which comes with torch."""

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch


@lru_cache
def load_kernel(source: Path, name: str, device: torch.device) -> Any:
    """Give back what starts a kernel. Raises: what torch and the compiler raise, of many kinds."""
    from torch.cuda import _utils

    names = ("_get_gpu_rtc_library", "_get_nvrtc_library")  # of late, and before that
    find = next(getattr(_utils, each) for each in names if hasattr(_utils, each))
    binary = compiled(find(), source, torch.cuda.get_device_capability(device))
    return _utils._cuda_load_module(binary, [name])[name]


def compiled(compiler: ctypes.CDLL, source: Path, capability: tuple[int, int]) -> bytes:
    """Give back the kernels for a capability. Raises: RuntimeError with the compiler's words.

    They include nothing, so no headers are looked for on the machine.
    """
    program = ctypes.c_void_p()
    text, name = source.read_bytes(), source.name.encode()
    _check(compiler.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None))
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

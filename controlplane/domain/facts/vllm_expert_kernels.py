"""Which kernels of experts vLLM takes by name, by the numbers of the experts, GPU and version.

Source: `map_*_backend` of `model_executor/layers/fused_moe/oracle/` and `_supports_current_device`
of the classes in `fused_moe/experts/`; vLLM 0.25.1 to 0.33.0, checked 2026-11-30.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import Gpu

_ALWAYS: Mapping[str, str] = MappingProxyType(
    {
        "16 bits": "triton batched_triton flashinfer_trtllm flashinfer_cutlass",
        "FP8": "triton deep_gemm cutlass flashinfer_trtllm flashinfer_cutlass marlin humming hpc",
        "NVFP4": "b12x cutlass flashinfer_trtllm flashinfer_cutlass flashinfer_cutedsl "
        "flashinfer_b12x flashinfer_moe_ep_cutedsl marlin humming emulation",
        "MXFP4": "b12x deep_gemm flashinfer_trtllm flashinfer_trtllm_afp8 flashinfer_cutlass "
        "flashinfer_cutlass_afp8 flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_deep_gemm "
        "triton triton_unfused humming marlin emulation",
        "INT4": "triton marlin humming flashinfer_trtllm emulation",
    }
)
"""Numbers of the experts -> the names, of every version that has them."""
_SINCE: Mapping[tuple[str, str], tuple[int, int]] = MappingProxyType(
    {
        ("16 bits", "batched_triton"): (0, 27),
        ("NVFP4", "b12x"): (0, 29),
        ("MXFP4", "b12x"): (0, 29),
        ("NVFP4", "flashinfer_moe_ep_cutedsl"): (0, 32),
        ("MXFP4", "flashinfer_moe_ep_cutedsl"): (0, 32),
        ("MXFP4", "flashinfer_moe_ep_mega_deep_gemm"): (0, 32),
        ("INT4", "triton"): (0, 27),
        ("INT4", "emulation"): (0, 26),
    }
)
_MAJORS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "b12x": (12,),
        "deep_gemm": (9, 10, 12),
        "deep_gemm_mega_moe": (10,),
        "flashinfer_b12x": (12,),
        "flashinfer_cutedsl": (10,),
        "flashinfer_cutlass": (9, 10, 11, 12),
        "flashinfer_trtllm": (10,),
        "hpc": (9,),
    }
)
"""Kernel -> the major compute capabilities that it runs on; the others run on all."""


def numbers_of_experts(existing: ExistingQuantization | None) -> str | None:
    """Return the numbers that experts are stored in, as named here; None where not known."""
    if existing is None:
        return "16 bits"
    if existing.is_mixed or existing.layer_algorithms:
        return None
    words = f"{existing.method} {existing.algorithm or ''}".lower()
    if "mxfp4" in words or existing.has_fp4_experts:
        return "MXFP4"
    if existing.is_fp4:
        return "NVFP4" if "mx" not in words else None
    if existing.is_fp8 and "mx" not in words:
        return "FP8"
    return "INT4" if existing.method.lower() in ("gptq", "awq") and existing.bits == 4 else None


def unsuited_experts(
    name: str, existing: ExistingQuantization | None, gpu: Gpu, version: str
) -> str | None:
    """Return what keeps named kernels from these experts, in words; None where all is well."""
    kernel, stored = name.lower().replace("-", "_"), numbers_of_experts(existing)
    majors, capability = _MAJORS.get(kernel), gpu.compute_capability
    if majors is not None and capability is not None and capability[0] not in majors:
        return f"do not run on compute capability {gpu.capability_text}"
    if stored is None or not any(kernel in names.split() for names in _ALWAYS.values()):
        return None  # `auto`, or one that a class of its own chooses
    known = [each for each in _ALWAYS[stored].split() if _is_there(stored, each, version)]
    if kernel in known:
        return None
    return f"do not take experts in {stored}, which {', '.join(f'`{each}`' for each in known)} do"


def _is_there(stored: str, kernel: str, version: str) -> bool:
    number = tuple(int(part) for part in version.split("."))[:2]
    return number >= _SINCE.get((stored, kernel), (0, 0))

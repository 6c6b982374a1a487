"""Which kernels of experts suit what the experts are stored in, and the GPU."""

import pytest

from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.vllm_expert_kernels import unsuited_experts

_FP8 = ExistingQuantization(method="fp8")
_V4 = ExistingQuantization(method="fp8", has_fp4_experts=True)
_NVFP4 = ExistingQuantization(method="modelopt", algorithm="NVFP4")
_MIXED = ExistingQuantization(method="modelopt", algorithm="FP8", layer_algorithms=("FP8",))


@pytest.mark.parametrize(
    ("name", "existing", "kind", "version", "words"),
    [
        ("triton", None, "H100", "0.25", None),
        ("auto", None, "H100", "0.25", None),
        ("Batched-Triton", None, "H100", "0.27", None),
        ("batched_triton", None, "H100", "0.25", "experts in 16 bits"),
        ("marlin", None, "H100", "0.33", "experts in 16 bits"),
        ("marlin", _FP8, "L4", "0.25", None),
        ("deep_gemm", _FP8, "L4", "0.25", "compute capability 8.9"),
        ("deep_gemm", _NVFP4, "B200", "0.25", "experts in NVFP4"),
        ("flashinfer_trtllm", _NVFP4, "H100", "0.25", "compute capability 9.0"),
        ("deep_gemm_mega_moe", _FP8, "B200", "0.33", None),  # a class of its own chooses it
        ("deep_gemm_mega_moe", _FP8, "RTX_PRO_6000", "0.25", "compute capability 12.0"),
        ("flashinfer_cutlass_afp8", _V4, "B200", "0.33", None),
        ("hpc", _V4, "H100", "0.33", "experts in MXFP4"),
        ("marlin", _MIXED, "H100", "0.33", None),
    ],
)
def test_kernels_are_refused_by_numbers_gpu_and_version(
    name: str, existing: ExistingQuantization | None, kind: str, version: str, words: str | None
) -> None:
    said = unsuited_experts(name, existing, GPUS[kind], version)
    assert said is None if words is None else words in str(said)

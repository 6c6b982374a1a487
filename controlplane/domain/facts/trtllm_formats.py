"""Which stored formats TensorRT-LLM's PyTorch backend computes on which GPUs.

Source: "Hardware Support Matrix" of its documentation on quantization, and the support tables of
`_torch/modules/fused_moe` (CUTLASS: 9.0 and 12.0; DeepGEMM and its own kernels: 10.0 and 10.3);
1.2 and the 1.3 line, checked 2026-11-30. Dense layers in FP8 blocks run on 8.9 too.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import Gpu
from controlplane.domain.facts.quantization import FP4_CAPABILITY, FP8_CAPABILITY

_READ_METHODS = frozenset(
    {"compressed-tensors", "compressed_tensors", "fp8", "mxfp4", "mxfp8", "nvfp4"}
)  # fmt: skip
"""Source: `load_hf_quant_config` of `_torch/model_config.py`, 1.2 and the 1.3 line, 2026-11-30."""
_UNREAD_ALGORITHMS = ("INT8", "W8A8_SQ", "W4A8_QSERVE")
"""Beginnings of ModelOpt's algorithms that `_torch/modules/linear.py` has no layer for."""
_ATTENTION_ON: Mapping[str, int] = MappingProxyType({"DeepseekV4ForCausalLM": 10})
"""Class -> the one major compute capability that its attention has kernels for.
Source: "Supported Models", footnote on DeepSeek-V4, and NVIDIA/TensorRT-LLM#18039 (12.0)."""
_EXPERT_KERNELS_ON: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    dict.fromkeys(("DEEPGEMM", "TRTLLM"), ((10, 0), (10, 3)))
)
"""Kernels of experts that a config may name -> the compute capabilities that they are made for.
Source: `get_moe_cls` and each kernel's own check in `_torch/modules/fused_moe`, and
NVIDIA/TensorRT-LLM#17570 (9.0), #17119; 1.2 and the 1.3 line, 2026-11-30."""
_BLOCK_EXPERTS_ON = ((9, 0), (10, 0), (10, 3), (12, 0))


def unread_format(existing: ExistingQuantization) -> str | None:
    method, algorithm = existing.method.lower(), (existing.algorithm or "").upper()
    if method.startswith("modelopt"):
        is_unread = algorithm.startswith(_UNREAD_ALGORITHMS)
        return f"ModelOpt's `{existing.algorithm}`" if is_unread else None
    if method not in _READ_METHODS or existing.is_mixed:
        return f"`{existing.method}`"
    if algorithm.startswith("INT"):
        return "integers of `compressed-tensors`"
    return f"one that {existing.unread.by_trtllm}" if existing.unread.by_trtllm else None


def lacks_format(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    existing = checkpoint.existing_quantization
    if existing is not None and unread_format(existing) is not None:
        return True
    return any(lacks(checkpoint, gpu) for lacks in (lacks_fp8, lacks_fp4, lacks_block_experts))


def lacks_fp8(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    existing = checkpoint.existing_quantization
    is_older = gpu.compute_capability is not None and not gpu.has_capability(*FP8_CAPABILITY)
    return is_older and existing is not None and existing.is_fp8


def lacks_fp4(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    """Return whether the weights are in an FP4 that only Blackwell multiplies as it is."""
    existing = checkpoint.existing_quantization
    is_older = gpu.compute_capability is not None and not gpu.has_capability(*FP4_CAPABILITY)
    return is_older and existing is not None and _is_multiplied_in_fp4(existing)


def _is_multiplied_in_fp4(existing: ExistingQuantization) -> bool:
    """Return whether it is NVFP4, or MXFP4 with inputs in FP8."""
    words = f"{existing.algorithm} {existing.mixed_algorithm}".lower()
    return "nvfp4" in words or "w4a8_mxfp4" in words


def lacks_attention(architecture: str | None, gpu: Gpu) -> bool:
    major, capability = _ATTENTION_ON.get(architecture or ""), gpu.compute_capability
    return major is not None and capability is not None and capability[0] != major


def lacks_block_experts(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    """Return whether the experts are in FP8 blocks and no kernel multiplies those on the GPU."""
    existing, capability = checkpoint.existing_quantization, gpu.compute_capability
    if existing is None or not checkpoint.experts or capability is None:
        return False
    is_blocks = existing.is_fp8 and existing.block is not None
    return is_blocks and capability not in _BLOCK_EXPERTS_ON


def lacks_expert_kernels(name: object, checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    """Return whether kernels that are named for the experts are none of the GPU.

    TensorRT-LLM's own are taken for quantized experts only, and others in their place else.
    """
    made_for, capability = _EXPERT_KERNELS_ON.get(str(name).upper()), gpu.compute_capability
    if made_for is None or capability is None or not checkpoint.experts:
        return False
    is_taken = str(name).upper() != "TRTLLM" or checkpoint.existing_quantization is not None
    return is_taken and capability not in made_for

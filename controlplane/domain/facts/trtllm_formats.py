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

_ATTENTION_ON: Mapping[str, int] = MappingProxyType({"DeepseekV4ForCausalLM": 10})
"""Class -> the one major compute capability that its attention has kernels for.
Source: "Supported Models", footnote on DeepSeek-V4, and NVIDIA/TensorRT-LLM#18039 (12.0)."""
_BLOCK_EXPERTS_ON = ((9, 0), (10, 0), (10, 3), (12, 0))


def lacks_format(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    """Return whether the engine does not compute the stored weights on the GPU."""
    return any(lacks(checkpoint, gpu) for lacks in (lacks_fp8, lacks_fp4, lacks_block_experts))


def lacks_fp8(checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
    """Return whether the weights are in FP8, which the GPU does not multiply."""
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

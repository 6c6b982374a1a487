"""Which GPU, model and runtime a quantization type is refused on, and why."""

from controlplane.domain.facts.architectures import GEMMA_MODEL_TYPES
from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.gpus import Gpu
from controlplane.domain.facts.quantization import (
    FP4_CAPABILITY,
    FP8_CAPABILITY,
    KV_SENSITIVE_MODEL_TYPES,
    PRECISIONS,
)

EMULATED_FP8_CAPABILITY = (8, 0)
"""vLLM computes FP8 weights in 16 bits from here on; FP4 weights from compute capability 7.5."""
EMULATED_FP4_CAPABILITY = (7, 5)
_EMULATING_RUNTIME = "vllm"


def precision_refusal(
    name: str, gpu: Gpu, checkpoint: CheckpointFacts, runtime_name: str
) -> str | None:
    """Return why this type is not to be had here, or None where it is."""
    precision = PRECISIONS[name]
    refused = _of_device(precision.minimum_capability, gpu, runtime_name, name)
    if refused:
        return refused
    model_type = checkpoint.model_type or ""
    if precision.kv_bytes < 2 and model_type in KV_SENSITIVE_MODEL_TYPES:
        return f"`{model_type}` has a bias on keys, which an 8-bit KV cache does not survive"
    if name != "no_quant" and model_type in GEMMA_MODEL_TYPES and runtime_name != "vllm":
        return f"`{model_type}` runs in 16 bits only on this stack"
    return None


def stored_refusal(checkpoint: CheckpointFacts, gpu: Gpu, runtime_name: str) -> str | None:
    """Return why this GPU does not run a checkpoint that is quantized already, or None."""
    existing = checkpoint.existing_quantization
    if existing is None:
        return None
    if existing.is_fp4:
        return _of_device(FP4_CAPABILITY, gpu, runtime_name, existing.algorithm or "FP4")
    if existing.is_fp8:
        return _of_device(FP8_CAPABILITY, gpu, runtime_name, existing.algorithm or "FP8")
    return None


def is_emulated(name: str, gpu: Gpu) -> bool:
    """Return whether this GPU computes such weights in 16 bits: memory saved, no arithmetic."""
    return not gpu.has_capability(*PRECISIONS[name].minimum_capability)


def _of_device(needed: tuple[int, int], gpu: Gpu, runtime_name: str, name: str) -> str | None:
    if gpu.has_capability(*needed):
        return None
    emulated = EMULATED_FP4_CAPABILITY if needed == FP4_CAPABILITY else EMULATED_FP8_CAPABILITY
    if (
        needed in (FP4_CAPABILITY, FP8_CAPABILITY)
        and runtime_name == _EMULATING_RUNTIME
        and gpu.has_capability(*emulated)
    ):
        return None
    wanted = ".".join(map(str, needed))
    return f"`{name}` needs compute capability {wanted}; {gpu.kind} has {gpu.capability_text}"

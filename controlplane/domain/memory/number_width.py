"""Where an engine holds numbers of 32 bits in place of the 16 that a model is stored in."""

from dataclasses import replace

from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.quantization import BFLOAT16_CAPABILITY
from controlplane.domain.memory.memory_plan import PlanInputs
from controlplane.domain.memory.weights import FLOAT32_BYTES, SIXTEEN_BIT_BYTES, Weights


def is_widened(inputs: PlanInputs) -> bool:
    """Return whether the engine computes this model in float32, as the GPU has no bfloat16."""
    gpu = GPUS.get(inputs.device.kind)
    if gpu is None or gpu.compute_capability is None or gpu.has_capability(*BFLOAT16_CAPABILITY):
        return False
    return inputs.checkpoint.model_type in inputs.runtime.widened


def held_weights(weights: Weights, inputs: PlanInputs) -> Weights:
    """Return the weights as the engine holds them; what is quantized keeps its size."""
    if not is_widened(inputs):
        return weights
    wider = FLOAT32_BYTES // SIXTEEN_BIT_BYTES
    kept = weights.total_bytes - weights.quantized_bytes
    return replace(weights, total_bytes=weights.quantized_bytes + kept * wider)


def held_element_bytes(element_bytes: float, inputs: PlanInputs) -> float:
    """Return the bytes of one cached number; a cache of 8 bits keeps its size."""
    is_wide = is_widened(inputs) and element_bytes == SIXTEEN_BIT_BYTES
    return FLOAT32_BYTES if is_wide else element_bytes

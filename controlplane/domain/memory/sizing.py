from dataclasses import dataclass
from math import ceil

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.rank_shares import divides_heads, divides_whole
from controlplane.domain.memory.bit_search import bit_search_bytes
from controlplane.domain.memory.parallelism import keeps_experts_whole
from controlplane.domain.memory.plan import Device, MemoryPlan, UnplannableError, plan
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.memory.weights import SIXTEEN_BIT_BYTES
from controlplane.domain.spec import Spec

DEVICES_PER_HOST = 8
DEVICE_COUNTS = (1, 2, 4, 8)
_LENGTH_STEP = 256
_BUILDER_SHARE = 0.9
"""Share of a builder's GPUs that weights may take; calibration needs the rest."""


def devices_that_fit(
    spec: Spec, checkpoint: CheckpointFacts, device: Device, runtime: RuntimeMemory
) -> int | None:
    if not runtime.divides:
        return None
    for count in DEVICE_COUNTS:
        if not divides(checkpoint, count, runtime, spec):
            continue
        try:
            planned = plan(spec, checkpoint, device, runtime, tensor_parallel=count)
        except UnplannableError:
            return None
        if planned.weights_fit and planned.full_length_requests >= 1:
            return count
    return None


def divides(checkpoint: CheckpointFacts, ranks: int, runtime: RuntimeMemory, spec: Spec) -> bool:
    if not runtime.wants_whole_shares:
        return divides_heads(checkpoint, ranks)
    whole = keeps_experts_whole(spec, ranks)
    return divides_whole(checkpoint, ranks, keeps_experts_whole=whole)


def longest_sequence(planned: MemoryPlan) -> int:
    tokens = planned.longest_sequence_tokens
    return tokens - tokens % _LENGTH_STEP if tokens >= _LENGTH_STEP else tokens


@dataclass(frozen=True, kw_only=True)
class BuilderNeed:
    """What quantizing takes: the 16-bit copy, and beside it the quantized one or a search."""

    peak_bytes: int
    devices: int


def builder_devices(
    spec: Spec, checkpoint: CheckpointFacts, device_memory_bytes: int
) -> BuilderNeed | None:
    """Return the memory and GPUs that calibration needs, or None where nothing is quantized.

    Source: NVIDIA/TensorRT-LLM#1331: 70B in FP8 peaks above 210 GB, four 80 GB GPUs.
    """
    if spec.quantization_type.is_none or checkpoint.parameters is None:
        return None
    quantized = round(checkpoint.parameters * spec.weight_bytes)
    searching = bit_search_bytes(spec, checkpoint, number_bytes=SIXTEEN_BIT_BYTES)
    peak = checkpoint.parameters * SIXTEEN_BIT_BYTES + max(quantized, searching)
    devices = ceil(peak / (device_memory_bytes * _BUILDER_SHARE))
    return BuilderNeed(peak_bytes=peak, devices=_next_power_of_two(devices))


def _next_power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()

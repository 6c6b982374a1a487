from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.memory.kv_cache import KvLayout
from controlplane.domain.memory.memory_plan import PlanInputs
from controlplane.domain.memory.parallelism import Parallelism
from controlplane.domain.memory.speculation import Drafting
from controlplane.domain.memory.speed import Speed, StepWork
from controlplane.domain.memory.weights import SIXTEEN_BIT_BYTES, Weights, table_parameters

_TYPICAL_CONTEXT = 2048
"""Tokens that a request has kept when its speed is stated."""


def speed_of(
    inputs: PlanInputs,
    weights: Weights,
    layout: KvLayout,
    divided: Parallelism,
    drafting: Drafting,
) -> Speed | None:
    """Return the speed of the planned model, or None where the GPU's data sheet is not known."""
    gpu = PLANNABLE_GPUS.get(inputs.device.kind)
    checkpoint = inputs.checkpoint
    if gpu is None or not gpu.bytes_per_second or inputs.spec.base_model.is_encoder:
        return None
    table = table_parameters(checkpoint) * SIXTEEN_BIT_BYTES
    looked_up = 0 if checkpoint.tied_embeddings else table // 2
    read = max(0, weights.total_bytes - weights.experts_bytes - looked_up)
    counts = checkpoint.counts
    head = table_parameters(checkpoint) // (1 if checkpoint.tied_embeddings else 2)
    active = counts.active + head if counts else checkpoint.parameters or 0
    typical = min(inputs.spec.max_seq_len or _TYPICAL_CONTEXT, _TYPICAL_CONTEXT)
    return Speed(
        gpu=gpu,
        work=StepWork(
            weight_bytes=read // divided.tensor,
            experts_bytes=weights.experts_bytes // divided.tensor,
            experts=checkpoint.experts or 0,
            experts_per_token=checkpoint.experts_per_token or 1,
            request_cache_bytes=layout.request_bytes(typical) * divided.pipeline,
            active_parameters=active,
            bytes_per_weight=_bytes_per_weight(inputs),
            arithmetic_bytes=_arithmetic_bytes(inputs),
            tensor_ranks=divided.tensor,
            layers=checkpoint.layers or 0,
            draft_tokens=drafting.tokens,
        ),
    )


def _bytes_per_weight(inputs: PlanInputs) -> float:
    existing = inputs.checkpoint.existing_quantization
    if existing is not None:
        return existing.bytes_per_weight
    return inputs.spec.weight_bytes


def _arithmetic_bytes(inputs: PlanInputs) -> float:
    existing = inputs.checkpoint.existing_quantization
    if existing is None:
        return inputs.spec.quantization_type.precision.weights.arithmetic_bytes
    is_expanded = existing.bytes_per_weight < 1 and not existing.is_fp4
    return SIXTEEN_BIT_BYTES if is_expanded else existing.bytes_per_weight

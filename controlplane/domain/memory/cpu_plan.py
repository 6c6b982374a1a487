"""The plan of a host under the native engine, which computes in float32 on a CPU."""

from controlplane.domain.facts.architectures import RECURRENT_MODEL_TYPES
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.activations import CPU_RUNTIME_BYTES, cpu_activation_bytes
from controlplane.domain.memory.kv_cache import KvLayout, layout_of
from controlplane.domain.memory.memory_plan import MemoryPlan, PlanInputs, UnplannableError
from controlplane.domain.memory.missing import unplannable
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_sequence_length,
    effective_step_tokens,
)
from controlplane.domain.memory.weights import FLOAT32_BYTES, cpu_weight_bytes


def plan_cpu(inputs: PlanInputs) -> MemoryPlan:
    """Return the plan, its cache sized by what a full batch can use. Raises `UnplannableError`."""
    spec, checkpoint, card = inputs.spec, inputs.checkpoint, inputs.card
    _refuse_states(checkpoint)
    layout = _layout(inputs)
    weights = cpu_weight_bytes(checkpoint)
    if layout is None or weights is None:
        raise unplannable(checkpoint)
    batch = effective_batch_size(spec)
    length = effective_sequence_length(spec, checkpoint)
    step = effective_step_tokens(spec, checkpoint)
    activations = cpu_activation_bytes(checkpoint, max_num_tokens=step, max_batch_size=batch)
    rest = card.memory_bytes - weights - activations - CPU_RUNTIME_BYTES
    # Rounded, not floored: a plan within `reserved_bytes` must come to the same tokens.
    budget = round(max(0, rest) * min(max(spec.kv_cache_fraction, 0.0), 1.0))
    tokens = min(budget // layout.unbounded, batch * length) if layout.unbounded else 0
    return MemoryPlan(
        inputs=inputs,
        weight_bytes=weights,
        kv_bytes_per_token=layout.unbounded,
        weights_bytes=weights,
        activations_bytes=activations,
        overhead_bytes=CPU_RUNTIME_BYTES,
        kv_cache_bytes=tokens * layout.unbounded,
        kv_tokens=tokens,
        sequence_tokens=length,
        full_length_requests=(tokens if layout.unbounded else max(step, length)) // length,
        batch_size=batch,
        step_tokens=step,
        layout=layout,
        kv_element_bytes=FLOAT32_BYTES,
    )


def _layout(inputs: PlanInputs) -> KvLayout | None:
    """What a request keeps between steps; an encoder reads a text in one and keeps nothing."""
    if inputs.spec.base_model.is_encoder:
        return KvLayout()
    return layout_of(inputs.checkpoint, element_bytes=FLOAT32_BYTES, keeps_windows=False)


def _refuse_states(checkpoint: CheckpointFacts) -> None:
    if checkpoint.keeps_state or checkpoint.model_type in RECURRENT_MODEL_TYPES:
        raise UnplannableError(
            f"`{checkpoint.model_type}` keeps a state beside its KV cache, "
            "which the native engine does not hold"
        )

"""The plan of a host, or of one GPU, under the native engine."""

from controlplane.domain.facts.architectures import RECURRENT_MODEL_TYPES
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.memory.activations import (
    CPU_RUNTIME_BYTES,
    CUDA_RUNTIME_BYTES,
    native_activation_bytes,
    score_bytes,
)
from controlplane.domain.memory.encoder_speed import encoder_speed
from controlplane.domain.memory.kv_cache import KvLayout, layout_of
from controlplane.domain.memory.memory_plan import MemoryPlan, PlanInputs, UnplannableError
from controlplane.domain.memory.missing import unplannable
from controlplane.domain.memory.native_limits import (
    effective_batch_size,
    effective_dtype,
    effective_sequence_length,
    effective_step_tokens,
)
from controlplane.domain.memory.weights import (
    FLOAT32_BYTES,
    SIXTEEN_BIT_BYTES,
    expanded_weight_bytes,
    gpu_weights,
)
from controlplane.domain.spec.choices import Dtype

FP8_PRODUCTS = (8, 9)
"""The compute capability from which on a GPU has them."""
FLASH_CAPABILITY, FLASH_HEAD = (8, 0), 256
"""Where one kernel attends all texts of a forward, and its widest head."""
OWN_ATTENTION = frozenset({"deberta", "deberta-v2", "gemma2", "mpnet"})
"""Whose classes attend by code of their own, which keeps the scores of each token with each."""
NUMBER_BYTES = {Dtype.FLOAT32: FLOAT32_BYTES, Dtype.BFLOAT16: SIXTEEN_BIT_BYTES}


def plan_native(inputs: PlanInputs) -> MemoryPlan:
    """Return the plan, its cache sized by what a full batch can use. Raises `UnplannableError`."""
    spec, checkpoint, device = inputs.spec, inputs.checkpoint, inputs.device
    _refuse_states(checkpoint)
    number_bytes = _number_bytes(inputs)
    layout = _layout(inputs, number_bytes)
    is_fp8 = _multiplies_fp8(inputs)
    weights = _weight_bytes(inputs, number_bytes, is_fp8=is_fp8)
    if layout is None or weights is None:
        raise unplannable(checkpoint)
    batch = effective_batch_size(spec)
    length = effective_sequence_length(spec, checkpoint)
    step = effective_step_tokens(spec, checkpoint, kind=device.kind)
    activations = _activations(inputs, number_bytes, step=step, batch=batch, length=length)
    overhead = CPU_RUNTIME_BYTES if device.kind == CPU else CUDA_RUNTIME_BYTES
    rest = device.memory_bytes - weights - activations - overhead
    # Rounded, not floored: a plan within `reserved_bytes` must come to the same tokens.
    budget = round(max(0, rest) * min(max(spec.kv_cache_fraction, 0.0), 1.0))
    tokens = min(budget // layout.unbounded, batch * length) if layout.unbounded else 0
    return MemoryPlan(
        inputs=inputs,
        weight_bytes=weights,
        kv_bytes_per_token=layout.unbounded,
        weights_bytes=weights,
        activations_bytes=activations,
        overhead_bytes=overhead,
        kv_cache_bytes=tokens * layout.unbounded,
        kv_tokens=tokens,
        sequence_tokens=length,
        full_length_requests=(tokens if layout.unbounded else max(step, length)) // length,
        batch_size=batch,
        step_tokens=step,
        layout=layout,
        kv_element_bytes=number_bytes,
        estimates=() if device.kind == CPU else ("activations and overhead on a GPU",),
        encoder_speed=encoder_speed(
            checkpoint, kind=device.kind, bytes_per_number=1 if is_fp8 else number_bytes
        ) if spec.base_model.is_encoder else None,
    )  # fmt: skip


def _multiplies_fp8(inputs: PlanInputs) -> bool:
    """Whether an encoder's FP8 weights are multiplied as they are stored, and not expanded."""
    spec, existing = inputs.spec, inputs.checkpoint.existing_quantization
    is_fp8 = spec.quantization_type.is_fp8 if existing is None else existing.is_fp8
    gpu = GPUS.get(inputs.device.kind)
    has_products = gpu is not None and gpu.has_capability(*FP8_PRODUCTS)
    is_half = _number_bytes(inputs) == SIXTEEN_BIT_BYTES
    return spec.base_model.is_encoder and is_fp8 and has_products and is_half


def _weight_bytes(inputs: PlanInputs, number_bytes: int, *, is_fp8: bool) -> int | None:
    if not is_fp8:
        return expanded_weight_bytes(inputs.checkpoint, number_bytes=number_bytes)
    stored = gpu_weights(inputs.spec, inputs.checkpoint)
    return None if stored is None else stored.total_bytes


def _number_bytes(inputs: PlanInputs) -> int:
    dtype = effective_dtype(
        inputs.spec, kind=inputs.device.kind, computes_bfloat16=inputs.computes_bfloat16
    )
    return NUMBER_BYTES[dtype]


def _activations(
    inputs: PlanInputs, number_bytes: int, *, step: int, batch: int, length: int
) -> int:
    spec, checkpoint = inputs.spec, inputs.checkpoint
    # Inputs are rounded to FP8 and FP4 in float32, whatever they are multiplied in.
    rounds = not spec.quantization_type.is_none or checkpoint.existing_quantization is not None
    planned = native_activation_bytes(
        checkpoint, max_num_tokens=step, max_batch_size=batch,
        number_bytes=FLOAT32_BYTES if rounds else number_bytes,
    )  # fmt: skip
    if inputs.device.kind == CPU or _attends_fused(inputs):
        return planned
    return planned + score_bytes(checkpoint, max_num_tokens=step, length=length)


def _attends_fused(inputs: PlanInputs) -> bool:
    """Whether an encoder's texts are attended by one kernel, which keeps no scores."""
    gpu, checkpoint = GPUS.get(inputs.device.kind), inputs.checkpoint
    heads, size = checkpoint.attention_heads or 1, checkpoint.hidden_size or 0
    head = checkpoint.head_dim or size // heads
    has_kernel = gpu is not None and gpu.has_capability(*FLASH_CAPABILITY)
    fits = 0 < head <= FLASH_HEAD and head % 8 == 0 and _number_bytes(inputs) == SIXTEEN_BIT_BYTES
    is_packed = checkpoint.model_type not in OWN_ATTENTION
    return inputs.spec.base_model.is_encoder and has_kernel and fits and is_packed


def _layout(inputs: PlanInputs, number_bytes: int) -> KvLayout | None:
    """What a request keeps between steps; an encoder reads a text in one and keeps nothing."""
    if inputs.spec.base_model.is_encoder:
        return KvLayout()
    return layout_of(inputs.checkpoint, element_bytes=number_bytes, keeps_windows=False)


def _refuse_states(checkpoint: CheckpointFacts) -> None:
    if checkpoint.keeps_state or checkpoint.model_type in RECURRENT_MODEL_TYPES:
        raise UnplannableError(
            f"`{checkpoint.model_type}` keeps a state beside its KV cache, "
            "which the native engine does not hold"
        )

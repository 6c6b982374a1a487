from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.quantization import cached_bytes
from controlplane.domain.memory.activations import gpu_activation_bytes
from controlplane.domain.memory.adapters import adapter_bytes
from controlplane.domain.memory.engine_tables import engine_table_bytes
from controlplane.domain.memory.estimates import estimates_of
from controlplane.domain.memory.kv_cache import KvLayout, kv_bytes_per_token, layout_of
from controlplane.domain.memory.memory_plan import MemoryPlan, PlanInputs, in_blocks
from controlplane.domain.memory.missing import unplannable
from controlplane.domain.memory.number_width import held_element_bytes, held_weights
from controlplane.domain.memory.parallelism import Parallelism, parallelism_of
from controlplane.domain.memory.planned_speed import speed_of
from controlplane.domain.memory.runtime_memory import overhead_bytes
from controlplane.domain.memory.speculation import Drafting, drafting_of
from controlplane.domain.memory.weights import Weights, gpu_weights
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV2

FALLBACK_SEQUENCE_TOKENS = 8192
"""Length assumed where neither the config nor the checkpoint names one."""


def plan_gpu(inputs: PlanInputs) -> MemoryPlan:
    """Return the plan of one GPU of the replica. Raises `UnplannableError`."""
    parts = _parts(inputs)
    spec, memory = inputs.spec, inputs.runtime
    fixed = _fixed_bytes(inputs, parts)
    requests = _cache_contents(inputs, parts, _budget(inputs, sum(fixed.values())))
    kept_bytes = kv_bytes_per_token(inputs.checkpoint, element_bytes=parts.element_bytes)
    return MemoryPlan(
        inputs=inputs,
        weight_bytes=parts.weights.total_bytes,
        kv_bytes_per_token=kept_bytes or 0,
        kv_cache_bytes=requests.cache_bytes,
        kv_tokens=requests.tokens,
        sequence_tokens=parts.length,
        full_length_requests=requests.requests,
        batch_size=spec.max_batch_size,
        step_tokens=parts.step_tokens,
        layout=parts.layout,
        kv_element_bytes=parts.element_bytes,
        block_tokens=memory.block_tokens,
        drafting=parts.drafting,
        adapters_bytes=parts.adapters_bytes,
        parallelism=parts.divided,
        estimates=estimates_of(
            inputs, parts.drafting, adapters=parts.adapters_bytes, element_bytes=parts.element_bytes
        ),
        speed=speed_of(inputs, parts.weights, parts.layout, parts.divided, parts.drafting),
        encoder_speed=None,
        **fixed,
    )


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """What a plan is put together from, before the GPU's memory comes in."""

    weights: Weights
    layout: KvLayout
    element_bytes: float
    divided: Parallelism
    drafting: Drafting
    adapters_bytes: int
    step_tokens: int
    length: int


@dataclass(frozen=True, kw_only=True)
class _CacheContents:
    cache_bytes: int
    tokens: int
    requests: int


def _parts(inputs: PlanInputs) -> _Parts:
    spec, checkpoint = inputs.spec, inputs.checkpoint
    drafting = drafting_of(spec)
    divided = parallelism_of(spec, tensor=inputs.tensor_parallel)
    weights = gpu_weights(spec, checkpoint, keeps_draft=drafting.uses_prediction_layers)
    element_bytes = held_element_bytes(kv_element_bytes(spec, checkpoint), inputs)
    layout = _layout(spec, checkpoint, element_bytes, divided)
    if weights is None or layout is None:
        raise unplannable(checkpoint)
    length = spec.max_seq_len or checkpoint.max_positions or FALLBACK_SEQUENCE_TOKENS
    return _Parts(
        weights=held_weights(weights, inputs),
        layout=layout,
        element_bytes=element_bytes,
        divided=divided,
        drafting=drafting,
        adapters_bytes=-(-adapter_bytes(spec, checkpoint) // divided.devices),
        step_tokens=_step_tokens(inputs, drafting, length),
        length=length,
    )


def _fixed_bytes(inputs: PlanInputs, parts: _Parts) -> dict[str, int]:
    checkpoint, divided = inputs.checkpoint, parts.divided
    weights = parts.weights.per_device(divided, checkpoint.experts)
    weights = max(0, weights - inputs.spec.settings.offloaded_weight_bytes)
    return {
        "weights_bytes": weights + parts.adapters_bytes + _engine_table_bytes(inputs, parts),
        "activations_bytes": gpu_activation_bytes(
            checkpoint,
            max_num_tokens=parts.step_tokens,
            tensor_parallel=divided.tensor,
            rows=_rows(inputs, parts.drafting),
        ),
        "overhead_bytes": overhead_bytes(
            inputs.runtime,
            world_size=divided.devices,
            quantized_bytes=-(-parts.weights.quantized_bytes // divided.devices),
        ),
    }


def _rows(inputs: PlanInputs, drafting: Drafting) -> int:
    """Return the tokens that ask for logits in the step by which the engine sizes its cache."""
    profiled = inputs.runtime.profiled_drafts
    drafts = drafting.tokens if profiled is None else min(drafting.tokens, profiled)
    return inputs.spec.max_batch_size * (drafts + 1)


def _engine_table_bytes(inputs: PlanInputs, parts: _Parts) -> int:
    if not inputs.runtime.counts_engine_tables:
        return 0
    stored = inputs.checkpoint.existing_quantization
    weight_bytes = inputs.spec.weight_bytes
    return engine_table_bytes(
        inputs.checkpoint,
        number_bytes=stored.bytes_per_weight if stored else weight_bytes,
        devices=parts.divided.devices,
    )


def _budget(inputs: PlanInputs, fixed_bytes: int) -> int:
    """Return what the KV cache may take: a share of the rest, within what the engine is given."""
    memory, device_bytes = inputs.runtime, inputs.device.memory_bytes
    kept = 1 - memory.block_reserve
    share = min(max(inputs.spec.kv_cache_fraction, 0.0), 1.0)
    budget = (device_bytes - fixed_bytes) * share * kept
    if memory.most_of_device is not None:
        budget = min(budget, device_bytes * memory.most_of_device * kept - fixed_bytes)
    return max(0, int(budget))


def _cache_contents(inputs: PlanInputs, parts: _Parts, budget: int) -> _CacheContents:
    layout, length = parts.layout, parts.length
    if inputs.spec.base_model.is_encoder:
        return _CacheContents(cache_bytes=0, tokens=0, requests=parts.step_tokens // length)
    tokens = layout.tokens(budget, length)
    # Whole tokens where every token takes the same; all of the budget where they differ.
    uneven = layout.windowed or layout.state
    kept = budget if uneven else tokens * layout.unbounded
    block = inputs.runtime.block_tokens
    whole = layout.request_bytes(in_blocks(length + parts.drafting.extra_tokens, block))
    return _CacheContents(cache_bytes=kept, tokens=tokens, requests=kept // whole if whole else 0)


def kv_element_bytes(spec: Spec, checkpoint: CheckpointFacts) -> float:
    """Return the bytes of one cached number: of the config, the engine's arguments or the files."""
    named = _cache_dtype(spec) or (
        checkpoint.existing_quantization.kv_cache if checkpoint.existing_quantization else None
    )
    return cached_bytes((named or "").lower()) or spec.quantization_type.precision.kv_bytes


def _cache_dtype(spec: Spec) -> str | None:
    if not isinstance(spec.trt_llm, TrtLlmV2):
        return None
    cache = spec.trt_llm.runtime.patch_kwargs.get("kv_cache_config")
    return numbers.text(cache, "dtype") if isinstance(cache, dict) else None


def _layout(
    spec: Spec, checkpoint: CheckpointFacts, element_bytes: float, divided: Parallelism
) -> KvLayout | None:
    if spec.base_model.is_encoder:
        return KvLayout()
    return layout_of(
        checkpoint,
        element_bytes=element_bytes,
        tensor_parallel=divided.tensor,
        pipeline_parallel=divided.pipeline,
    )


def _step_tokens(inputs: PlanInputs, drafting: Drafting, length: int) -> int:
    """Drafts raise a step to a full batch with all of them, an encoder to the longest input.

    An engine may raise it further, as vLLM does to a picture that it takes whole.
    """
    spec, smallest = inputs.spec, inputs.runtime.smallest_step
    raised = smallest(spec, inputs.checkpoint) if smallest else 0
    drafted = spec.max_batch_size * (drafting.tokens + 1) if drafting.tokens else 0
    whole = length if spec.base_model.is_encoder else 0
    return max(spec.max_num_tokens, drafted, whole, raised)

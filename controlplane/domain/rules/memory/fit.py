"""EH5: whether it fits. The planner computes; these rules only read what it says."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import CPU, GIB
from controlplane.domain.memory import devices_that_fit, longest_sequence
from controlplane.domain.memory.sizing import DEVICES_PER_HOST
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import divided, is_served_on, other_kinds
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, Example, on_trtllm
from controlplane.domain.rules.rule import (
    TRTLLM,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
    limit,
)

_ACCELERATOR = "resources.accelerator"
_FRACTION = "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_SHORTEST_USEFUL = 256
USUAL_STEP = 8192
_SMALL_STEP = 2048
_SOURCE = sources.tensorrt_llm("memory model")
_DEFAULT_FRACTION = 0.9


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


def _devices_needed(c: Context) -> int | None:
    if c.device is None or not is_served_on(c):
        return None
    return devices_that_fit(c.spec, c.checkpoint, c.device, c.memory)


def _what_would_fit(c: Context) -> str:
    if c.gpu.is_cpu:
        return "A smaller model, a shorter `max_num_tokens` or a host with more memory would fit."
    if not c.memory.divides:
        return "The native engine computes on one GPU; vLLM divides a model over several."
    if not is_served_on(c):
        return f"More of `{c.gpu.kind}` do not help: {c.engine.title} does not serve it there."
    count = _devices_needed(c)
    if count is None:
        return f"It does not fit on {DEVICES_PER_HOST} of `{c.gpu.kind}` in this precision either."
    return f"{count} of `{c.gpu.kind}` would hold it."


def _more_devices(c: Context) -> Patch | None:
    count = _devices_needed(c)
    if count is None or c.spec.accelerator is None:
        return None
    return divided(c, count)


def _holds_it(c: Context) -> Iterator[Fix]:
    """Yield smaller steps, fewer bits, then other kinds of GPU."""
    if c.spec.max_num_tokens > _SMALL_STEP:
        patch = {f"{c.spec.limits_path}.max_num_tokens": _SMALL_STEP}
        label = f"Use steps of {_SMALL_STEP:,} tokens"
        yield Fix(label=label, patch=lambda _: patch, safe=False)
    smaller = c.spec.quantization_type.precision.smaller
    if not c.spec.base_model.is_encoder and c.checkpoint.existing_quantization is None:
        yield from (_in_fewer_bits(name) for name in smaller[:2])
    yield from other_kinds(c)


def _in_fewer_bits(name: str) -> Fix:
    return Fix(
        label=f"Quantize to {name}",
        patch=lambda _: {"trt_llm.build.quantization_type": name},
        safe=False,
    )


def _more_memory(c: Context) -> Iterator[Fix]:
    yield Fix(label=_more_devices_label, patch=_more_devices, safe=True)
    yield from _holds_it(c)


def _more_devices_label(c: Context) -> str:
    count = _devices_needed(c)
    return f"Use {count} of `{c.gpu.kind}` and tensor parallel {count}"


def _longest_that_fits(c: Context) -> Patch | None:
    longest = longest_sequence(c.plan)
    return {f"{c.spec.limits_path}.max_seq_len": longest} if longest >= _SHORTEST_USEFUL else None


def would_fit_in_smaller_steps(c: Context) -> bool:
    """Return whether weights and one whole sequence fit beside a usual step.

    What a larger step takes is an estimate, and the first thing to lower.
    """
    planned = c.plan
    if c.gpu.is_cpu or planned.step_tokens <= USUAL_STEP:
        return False
    activations = planned.activations_bytes * USUAL_STEP // planned.step_tokens
    rest = planned.device_bytes - planned.weights_bytes - planned.overhead_bytes - activations
    share = min(max(planned.kv_fraction, 0.0), 1.0)
    return planned.layout.request_bytes(planned.sequence_tokens) <= max(rest, 0) * share


def _is_set_by_user(c: Context) -> bool:
    """Some shorten a length that nobody wrote; the others end at the model's own."""
    return c.spec.max_seq_len is not None or not c.engine.shortens_open_lengths


WEIGHTS = Rule(
    code="EH501",
    name="weights-that-do-not-fit",
    severity=Severity.ERROR,
    needs=("plan",),
    fields=at(_ACCELERATOR, "trt_llm.build.quantization_type"),
    when=lambda c: not c.plan.weights_fit and not would_fit_in_smaller_steps(c),
    message=lambda c: (
        f"The engine needs {_gib(c.plan.fixed_bytes)} on each GPU before it caches a token "
        f"(weights {_gib(c.plan.weights_bytes)}, activations {_gib(c.plan.activations_bytes)}, "
        f"overhead {_gib(c.plan.overhead_bytes)}), and `{c.gpu.kind}` has "
        f"{_gib(c.plan.device_bytes)}. {_what_would_fit(c)}"
    ),
    fix=Fix(label=_more_devices_label, patch=_more_devices, safe=True),
    otherwise=_holds_it,
    source=_SOURCE,
    bad=Example(config={_ACCELERATOR: "H100"}, checkpoint=LLAMA_70B),
    good=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=LLAMA_70B),
)

FULL_LENGTH = Rule(
    code="EH502",
    name="sequence-longer-than-the-kv-cache",
    severity=Severity.ERROR,
    needs=("plan",),
    fields=limit("max_seq_len", _ACCELERATOR),
    concerns=lambda c: not c.spec.base_model.is_encoder,
    when=lambda c: (
        _is_set_by_user(c)
        and c.plan.weights_fit
        and c.plan.full_length_requests < 1
        and not would_fit_in_smaller_steps(c)
    ),
    message=lambda c: (
        f"One request of {c.plan.sequence_tokens:,} tokens does not fit: the KV cache holds "
        f"{c.plan.kv_tokens:,} tokens ({_gib(c.plan.kv_cache_bytes)} at "
        f"{c.plan.kv_bytes_per_token:,} bytes a token)."
    ),
    fix=Fix(label="Use the longest that fits", patch=_longest_that_fits, safe=False),
    otherwise=_more_memory,
    source=_SOURCE,
    bad=Example(
        config={_ACCELERATOR: "L4", "trt_llm.build.max_seq_len": 131_072}, checkpoint=LLAMA_8B
    ),
    good=Example(
        config={_ACCELERATOR: "L4", "trt_llm.build.max_seq_len": 2048}, checkpoint=LLAMA_8B
    ),
)

OPEN_LENGTH = Rule(
    code="EH519",
    name="unset-length-beyond-the-kv-cache",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("plan",),
    fields=limit("max_seq_len"),
    concerns=lambda c: not c.spec.base_model.is_encoder and c.spec.max_seq_len is None,
    when=lambda c: c.plan.weights_fit and c.plan.full_length_requests < 1,
    message=lambda c: (
        f"`max_seq_len` is unset, and the model's own {c.plan.sequence_tokens:,} tokens do not "
        f"fit: the KV cache holds {c.plan.kv_tokens:,}. The engine shortens it; set one that fits."
    ),
    fix=Fix(label="Use the longest that fits", patch=_longest_that_fits, safe=False),
    source=_SOURCE,
    bad=on_trtllm(
        Example(config={_ACCELERATOR: "L4", "trt_llm.build.max_seq_len": None}, checkpoint=LLAMA_8B)
    ),
    good=on_trtllm(Example(config={_ACCELERATOR: "L4"}, checkpoint=LLAMA_8B)),
)

FRACTION = Rule(
    code="EH503",
    name="kv-cache-fraction-outside-0-to-1",
    severity=Severity.ERROR,
    fields=at(_FRACTION),
    when=lambda c: not 0 < c.spec.kv_cache_fraction <= 1,
    message=lambda c: (
        f"The KV cache may take a share of the free memory above 0 and up to 1; "
        f"{c.spec.kv_cache_fraction:g} is not one. The hosted parser has no bounds here."
    ),
    fix=Fix(
        label=f"Use {_DEFAULT_FRACTION}",
        patch=lambda c: (
            {"trt_llm.runtime.patch_kwargs.kv_cache_config.free_gpu_memory_fraction": None}
            if c.spec.is_v2
            else {_FRACTION: _DEFAULT_FRACTION}
        ),
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, v1 runtime"),
    bad=Example(config={_FRACTION: 5}),
    good=Example(config={_FRACTION: 0.85}),
)


UNPLANNED = Rule(
    code="EH505",
    name="memory-that-cannot-be-planned",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.device is not None,
    when=lambda c: not c.has("plan"),
    message=lambda c: (
        f"The memory of `{c.checkpoint.model_type or c.checkpoint.architecture or 'this model'}` "
        "cannot be planned from its files, so whether it fits shows only at the smoke test."
    ),
    source=_SOURCE,
    bad=Example(checkpoint=LLAMA_8B.model_copy(update={"layers": None})),
    good=Example(),
)

FEW_REQUESTS = Rule(
    code="EH506",
    name="kv-cache-for-one-request",
    severity=Severity.HINT,
    needs=("plan",),
    fields=limit("max_seq_len"),
    concerns=lambda c: not c.spec.base_model.is_encoder and c.spec.max_batch_size > 1,
    when=lambda c: c.plan.weights_fit and c.plan.full_length_requests == 1,
    message=lambda c: (
        f"The KV cache holds {c.plan.kv_tokens:,} tokens, so only one request of "
        f"{c.plan.sequence_tokens:,} tokens runs at a time; shorter ones share it."
    ),
    source=_SOURCE,
    bad=Example(
        config={"trt_llm.build.max_seq_len": 8192, "trt_llm.build.max_num_tokens": 1024},
        devices=(DeviceOffer(kind=CPU, count=1, memory_bytes=int(2.2 * GIB)),),
    ),
    good=Example(),
)

"""EH5: limits that fit and still serve badly."""

from collections.abc import Iterator

from controlplane.domain.counted import counted
from controlplane.domain.facts import sources
from controlplane.domain.facts.gpus import GIB, MIB
from controlplane.domain.facts.overrides import uncounted_sizes
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.memory.fit import USUAL_STEP, would_fit_in_smaller_steps
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    TRTLLM,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
    generates,
    limit,
)
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument, v2_example
from controlplane.domain.spec.trt_llm import TrtLlmV1

_RUNTIME = "trt_llm.runtime"
_FRACTION = f"{_RUNTIME}.kv_cache_free_gpu_mem_fraction"
_HOST = f"{_RUNTIME}.kv_cache_host_memory_bytes"
_PAGED = "trt_llm.build.plugin_configuration.use_paged_context_fmha"
_SEQUENCE = "trt_llm.build.max_seq_len"
_L4 = {"resources.accelerator": "L4"}
_H100 = {"resources.accelerator": "H100"}
_LARGEST_STEP = 16_384
_SHORT_REQUEST = 256


def _v1(c: Context) -> TrtLlmV1 | None:
    engine = c.spec.trt_llm
    return engine if isinstance(engine, TrtLlmV1) and not c.spec.base_model.is_encoder else None


def _host_bytes(c: Context) -> int | None:
    engine = _v1(c)
    return engine.runtime.kv_cache_host_memory_bytes if engine else None


def _usual_step(c: Context) -> Patch:
    return {f"{c.spec.limits_path}.max_num_tokens": USUAL_STEP}


def _usual_step_otherwise(c: Context) -> Iterator[Fix]:
    if c.spec.base_model.is_encoder:
        shorter = {**_usual_step(c), f"{c.spec.limits_path}.max_seq_len": USUAL_STEP}
        yield Fix(label="Use steps and inputs of 8192", patch=lambda _: shorter, safe=False)
    if c.spec.speculator is None and not c.spec.base_model.is_encoder:
        patch = {**_usual_step(c), c.spec.chunked_prefill_path: True}
        yield Fix(label="Use steps of 8192 and chunked prefill", patch=lambda _: patch, safe=False)


TAKES_ALL = Rule(
    code="EH507",
    name="kv-cache-that-takes-all",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=at(_FRACTION),
    concerns=generates,
    when=lambda c: 0.95 < c.spec.kv_cache_fraction <= 1,
    message=lambda c: (
        f"{c.spec.kv_cache_fraction:g} is a share of the memory that is free after weights and "
        "activations, unlike vLLM's `--gpu-memory-utilization`, a share of the whole GPU. Above "
        "0.95 nothing is left for graphs and peaks, and the engine may end at its first long "
        "request."
    ),
    fix=Fix(label="Use 0.9", patch=lambda c: {_FRACTION: 0.9} if _v1(c) else None, safe=True),
    source=sources.tensorrt_llm("free_gpu_memory_fraction"),
    bad=Example(config={**_L4, _FRACTION: 0.98}),
    good=Example(config={**_L4, _FRACTION: 0.9}),
)

TAKES_LITTLE = Rule(
    code="EH508",
    name="kv-cache-that-takes-little",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at(_FRACTION),
    concerns=generates,
    when=lambda c: 0 < c.spec.kv_cache_fraction < 0.5,
    message=lambda c: (
        f"Only {c.spec.kv_cache_fraction:.0%} of the memory that is free after the weights goes to "
        "the KV cache. A share of the whole GPU, as vLLM means it, would be another number."
    ),
    source=sources.tensorrt_llm("free_gpu_memory_fraction"),
    bad=Example(config={**_L4, _FRACTION: 0.3}),
    good=Example(config={**_L4, _FRACTION: 0.85}),
)

BATCH_BEYOND_CACHE = Rule(
    code="EH509",
    name="batch-larger-than-the-cache",
    severity=Severity.HINT,
    needs=("plan",),
    fields=limit("max_batch_size"),
    concerns=lambda c: generates(c) and c.spec.gives_batch_size,
    when=lambda c: c.plan.weights_fit and c.plan.kv_tokens < c.spec.max_batch_size * _SHORT_REQUEST,
    message=lambda c: (
        f"The KV cache holds {c.plan.kv_tokens:,} tokens, not {_SHORT_REQUEST} for each of "
        f"{counted(c.spec.max_batch_size, 'request')}: so large a batch is never reached."
    ),
    source=sources.engine_builder_overview("Memory usage considerations"),
    bad=Example(config={**_L4, "trt_llm.build.max_batch_size": 1024}, checkpoint=LLAMA_8B),
    good=Example(config={**_L4, "trt_llm.build.max_batch_size": 16}, checkpoint=LLAMA_8B),
)

BATCH_BEYOND_STEP = Rule(
    code="EH510",
    name="batch-beyond-one-step",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=limit("max_batch_size", "trt_llm.build.max_num_tokens"),
    concerns=generates,
    when=lambda c: c.spec.max_batch_size > c.spec.max_num_tokens,
    message=lambda c: (
        f"`max_batch_size` {c.spec.max_batch_size:,} is above `max_num_tokens` "
        f"{c.spec.max_num_tokens:,}: a step has one token for each row at least, so the batch is "
        "never full."
    ),
    fix=Fix(
        label="Lower the batch",
        patch=lambda c: {f"{c.spec.limits_path}.max_batch_size": c.spec.max_num_tokens},
        safe=True,
    ),
    source=sources.tensorrt_llm("max_batch_size and max_num_tokens"),
    bad=Example(
        config={**_L4, "trt_llm.build.max_batch_size": 512, "trt_llm.build.max_num_tokens": 256}
    ),
    good=Example(config=_L4),
)

LARGE_STEP = Rule(
    code="EH511",
    name="step-beyond-16384-tokens",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=limit("max_num_tokens"),
    concerns=lambda c: generates(c) and c.spec.chunks_prefill,
    when=lambda c: c.spec.max_num_tokens > _LARGEST_STEP,
    message=lambda c: (
        f"A step of {c.spec.max_num_tokens:,} tokens takes memory from the KV cache and makes "
        f"running answers wait; with chunked prefill {_LARGEST_STEP:,} or less serves the same "
        "prompts."
    ),
    fix=Fix(
        label="Use 8192",
        patch=lambda c: {f"{c.spec.limits_path}.max_num_tokens": 8192},
        safe=True,
    ),
    source=sources.tensorrt_llm("max_num_tokens above 16384"),
    bad=Example(config={**_L4, "trt_llm.build.max_num_tokens": 65_536}),
    good=Example(config=_L4),
)


def _what_to_lower(c: Context) -> str:
    if c.spec.base_model.is_encoder:
        return "Lower `max_num_tokens`, and `max_seq_len` with it: an input is read in one step."
    batch = f"{c.spec.max_batch_size:,}"
    return f"Lower `max_num_tokens` first, then `max_batch_size` ({batch})."


STEP_IN_THE_WAY = Rule(
    code="EH512",
    name="step-that-does-not-fit",
    severity=Severity.WARNING,
    needs=("plan",),
    fields=limit("max_num_tokens", "trt_llm.build.max_batch_size"),
    when=lambda c: (
        c.plan.verdict == "does_not_fit"
        and (c.spec.max_seq_len is not None or c.spec.base_model.is_encoder)
        and would_fit_in_smaller_steps(c)
    ),
    message=lambda c: (
        f"Weights and a whole sequence fit beside a usual step; what does not are about "
        f"{c.plan.activations_bytes / GIB:.1f} GiB of activations for steps of "
        f"{c.plan.step_tokens:,} tokens. {_what_to_lower(c)}"
    ),
    fix=Fix(label="Use steps of 8192", patch=_usual_step, safe=False),
    otherwise=_usual_step_otherwise,
    source=sources.tensorrt_llm("issue 2043, memory of a build"),
    bad=Example(config={**_L4, "trt_llm.build.max_num_tokens": 262_144}, checkpoint=LLAMA_8B),
    good=Example(config=_L4, checkpoint=LLAMA_8B),
)

HOST_CACHE = Rule(
    code="EH513",
    name="host-cache-without-reuse",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(_HOST, _PAGED),
    concerns=lambda c: _host_bytes(c) is not None,
    when=lambda c: not c.spec.engine_build.plugin_configuration.use_paged_context_fmha,
    message=lambda _: (
        "`kv_cache_host_memory_bytes` keeps blocks for reuse, and reuse needs "
        "`use_paged_context_fmha`, which is off."
    ),
    fix=Fix(label="Turn it on", patch=lambda _: {_PAGED: True}, safe=True),
    source=sources.tensorrt_llm("host_cache_size"),
    bad=on_trtllm(
        Example(
            config={
                **_L4,
                _HOST: 10 * GIB,
                _PAGED: False,
                f"{_RUNTIME}.enable_chunked_context": False,
            }
        )
    ),
    good=on_trtllm(Example(config={**_L4, _HOST: 10 * GIB})),
)

TINY_HOST_CACHE = Rule(
    code="EH514",
    name="host-cache-of-a-few-bytes",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(_HOST),
    when=lambda c: 0 < (_host_bytes(c) or 0) < MIB,
    message=lambda c: (
        f"`kv_cache_host_memory_bytes` is {_host_bytes(c) or 0:,} bytes, less than one block; it "
        "counts bytes, not gigabytes."
    ),
    fix=Fix(
        label="Read it as GiB",
        patch=lambda c: {_HOST: (_host_bytes(c) or 0) * GIB},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, v1 runtime"),
    bad=on_trtllm(Example(config={**_L4, _HOST: 10})),
    good=on_trtllm(Example(config={**_L4, _HOST: 10 * GIB})),
)

TIGHT = Rule(
    code="EH518",
    name="plan-without-a-margin",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    needs=("plan",),
    fields=limit("max_seq_len", "resources.accelerator"),
    concerns=generates,
    when=lambda c: c.plan.verdict == "tight",
    message=lambda c: (
        f"One request of {c.plan.sequence_tokens:,} tokens fits by calculation only: recorded runs "
        f"on `{c.gpu.kind}` held up to one request less. Shorten `max_seq_len` or add a GPU."
    ),
    source=sources.tensorrt_llm("72 recorded runs"),
    bad=Example(
        config={"resources.accelerator": "H100_40GB", _SEQUENCE: 90_000}, checkpoint=LLAMA_8B
    ),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)  # fmt: skip

_KWARGS = f"{ARGUMENTS}.model_kwargs"
_DTYPE = f"{ARGUMENTS}.dtype"


def _uncounted(c: Context) -> tuple[str, ...]:
    """Return the paths of what the engine reads otherwise than the plan does."""
    wide = (_DTYPE,) if argument(c, "dtype") in ("float", "float32") else ()
    return (*(f"{_KWARGS}.{name}" for name in uncounted_sizes(c.spec.model_kwargs)), *wide)


UNCOUNTED = Rule(
    code="EH522",
    name="overrides-that-the-plan-does-not-count",
    severity=Severity.WARNING,
    fields=lambda c: _uncounted(c) or (_KWARGS,),
    when=lambda c: bool(_uncounted(c)),
    message=lambda c: (
        "The engine uses "
        + ", ".join(f"`{path.removeprefix(f'{ARGUMENTS}.')}`" for path in _uncounted(c))
        + " in place of the checkpoint's own, but the memory plan counts the checkpoint as it is. "
        "Of overrides it counts only the length and its rope scaling."
    ),
    fix=Fix(label="Remove them", patch=lambda c: dict.fromkeys(_uncounted(c)), safe=False),
    source=sources.enginehouse("memory plan, overrides of config.json"),
    bad=v2_example({"model_kwargs": {"num_hidden_layers": 16}}),
    good=v2_example({"model_kwargs": {"max_position_embeddings": 65_536}, "dtype": "bfloat16"}),
)

"""EH5: how requests share the KV cache."""

from controlplane.domain.counted import counted
from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.rule import GPU_RUNTIMES, TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.spec.choices import BatchSchedulerPolicy
from controlplane.domain.spec.trt_llm import TrtLlmV1

_RUNTIME = "trt_llm.runtime"
_POLICY = f"{_RUNTIME}.batch_scheduler_policy"
_DEFAULT_TOKENS = f"{_RUNTIME}.request_default_max_tokens"
_TOTAL = f"{_RUNTIME}.total_token_limit"
_SEQUENCE = "trt_llm.build.max_seq_len"
_L4 = {"resources.accelerator": "L4"}
_H100 = {"resources.accelerator": "H100"}
_FEW_REQUESTS = 8
_DEFAULT_ANSWER = 1024


def _v1(c: Context) -> TrtLlmV1 | None:
    engine = c.spec.trt_llm
    return engine if isinstance(engine, TrtLlmV1) and not c.spec.base_model.is_encoder else None


def _policy(c: Context) -> BatchSchedulerPolicy | None:
    engine = _v1(c)
    return engine.runtime.batch_scheduler_policy if engine else None


def _total(c: Context) -> int:
    engine = _v1(c)
    return engine.runtime.total_token_limit if engine else 0


ONE_BY_ONE = Rule(
    code="EH515",
    name="requests-that-reserve-a-whole-sequence",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    needs=("plan",),
    fields=at(_DEFAULT_TOKENS, _POLICY),
    concerns=lambda c: (
        _policy(c) is BatchSchedulerPolicy.GUARANTEED_NO_EVICT and c.spec.default_max_tokens is None
    ),
    when=lambda c: (
        c.plan.weights_fit
        and 1 <= c.plan.full_length_requests < min(_FEW_REQUESTS, c.spec.max_batch_size)
    ),
    message=lambda c: (
        f"Under `guaranteed_no_evict` a request without `max_tokens` reserves up to "
        f"{c.plan.sequence_tokens:,} tokens, so only "
        f"{counted(c.plan.full_length_requests, 'request')} of that length fit at a time. "
        "`request_default_max_tokens` gives such requests a shorter answer; "
        "`max_utilization` reserves nothing and may compute twice."
    ),
    fix=Fix(
        label=f"Answer with {_DEFAULT_ANSWER} tokens unless asked",
        patch=lambda _: {_DEFAULT_TOKENS: _DEFAULT_ANSWER},
        safe=False,
    ),
    source=sources.tensorrt_llm("issue 9412, requests without max_tokens"),
    bad=on_trtllm(Example(config={**_H100, _SEQUENCE: 131_072}, checkpoint=LLAMA_8B)),
    good=on_trtllm(
        Example(config={**_H100, _SEQUENCE: 131_072, _DEFAULT_TOKENS: 512}, checkpoint=LLAMA_8B)
    ),
)

EVICTS = Rule(
    code="EH516",
    name="eviction-under-load",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(_POLICY),
    when=lambda c: _policy(c) is BatchSchedulerPolicy.MAX_UTILIZATION,
    message=lambda _: (
        "`max_utilization` admits as many requests as fit now and pauses some when the KV cache "
        "fills: throughput rises, and single answers stall and are computed again."
    ),
    source=sources.tensorrt_llm("capacity_scheduler_policy"),
    bad=on_trtllm(Example(config={**_L4, _POLICY: "max_utilization"})),
    good=on_trtllm(Example(config={**_L4, _POLICY: "guaranteed_no_evict"})),
)

TOTAL_LIMIT = Rule(
    code="EH517",
    name="total-tokens-below-one-sequence",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=at(_TOTAL, _SEQUENCE),
    when=lambda c: 0 < _total(c) < (c.spec.max_seq_len or 0),
    message=lambda c: (
        f"`total_token_limit` lets {_total(c):,} tokens run at once, and one request may have "
        f"{c.spec.max_seq_len or 0:,}: the longest are never scheduled."
    ),
    fix=Fix(label="Use the default", patch=lambda _: {_TOTAL: None}, safe=True),
    source=sources.truss("trt_llm_config.py, v1 runtime"),
    bad=Example(config={**_L4, _TOTAL: 1000}),
    good=Example(config=_L4),
)

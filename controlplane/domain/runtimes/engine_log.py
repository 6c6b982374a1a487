"""The end of an engine's log -> the failure it points to, by a table of patterns."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.guesses import guessed
from controlplane.domain.failures.matching import last_match
from controlplane.domain.failures.pattern import Fix, Pattern
from controlplane.domain.runtimes.log_lines import bare

LENGTH, BATCH, TOKENS = "max_seq_len", "max_batch_size", "max_num_tokens"
SPECULATOR = "trt_llm.build.speculator"
TENSOR_PARALLEL = "trt_llm.build.tensor_parallel_count"
KV_FRACTION = "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
_TAIL_CHARACTERS = 64 * 1024
_LEAST = {LENGTH: 1024, BATCH: 1, TOKENS: 1024}
_USUAL = {BATCH: 256, TOKENS: 8192}


def explain_log(
    patterns: Sequence[Pattern], log_tail: str, spec: Mapping[str, Any] | None
) -> Failure | None:
    seen = _evidence(log_tail, spec)
    explanation = last_match(patterns, seen.log_tail)
    return explanation.failure(seen) if explanation else None


def guess_log(log_tail: str, spec: Mapping[str, Any] | None) -> Failure | None:
    return guessed(_evidence(log_tail, spec))


def _evidence(log_tail: str, spec: Mapping[str, Any] | None) -> CrashEvidence:
    tail = bare(log_tail[-_TAIL_CHARACTERS:])
    return CrashEvidence(subject="The engine", exit_code=1, log_tail=tail, spec=spec or {})


def half(name: str) -> Any:
    """Return the fix that halves a limit of either stack."""

    def fix(evidence: CrashEvidence) -> Fix | None:
        block = limits_block(evidence)
        now = evidence.configured(f"{block}.{name}") or _USUAL.get(name)
        if not isinstance(now, int) or now // 2 < _LEAST[name]:
            return None
        return {f"{block}.{name}": now // 2}

    return fix


def less_kv_cache(evidence: CrashEvidence) -> Fix | None:
    """Leave a tenth more of the free memory to everything that is not KV cache."""
    now = evidence.configured(KV_FRACTION)
    lower = round(float(now or 0.9) - 0.1, 2)
    if evidence.configured("trt_llm.inference_stack") == "v2" or lower < 0.3:
        return None
    return {KV_FRACTION: lower}


def no_drafts(evidence: CrashEvidence) -> Fix | None:
    """Serve without speculation, which answers the same."""
    return {SPECULATOR: None} if evidence.configured(SPECULATOR) else None


def chunked_prefill(evidence: CrashEvidence) -> Fix | None:
    """Let long prompts in by pieces."""
    if evidence.configured("trt_llm.inference_stack") == "v2":
        return {"trt_llm.runtime.enable_chunked_prefill": True}
    return (
        {"trt_llm.runtime.enable_chunked_context": True}
        if not evidence.configured(SPECULATOR)
        else None
    )


def limits_block(evidence: CrashEvidence) -> str:
    is_v2 = evidence.configured("trt_llm.inference_stack") == "v2"
    return "trt_llm.runtime" if is_v2 else "trt_llm.build"

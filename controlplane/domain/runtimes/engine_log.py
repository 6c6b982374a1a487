"""The end of an engine's log -> the failure it points to, by a table of patterns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controlplane.domain.failure_patterns.crash_evidence import CrashEvidence
from controlplane.domain.failure_patterns.pattern import Example, Fix, Pattern
from controlplane.domain.failures import Blame, Failure

LENGTH, BATCH, TOKENS = "max_seq_len", "max_batch_size", "max_num_tokens"
REPOSITORY = "trt_llm.build.checkpoint_repository.repo"
SPECULATOR = "trt_llm.build.speculator"
TENSOR_PARALLEL = "trt_llm.build.tensor_parallel_count"
KV_FRACTION = "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
QUANTIZATION = "trt_llm.build.quantization_type"
ACCELERATOR = "resources.accelerator"
_TAIL_CHARACTERS = 64 * 1024
_DETAIL_CHARACTERS = 300
_CHECKED = "2026-11-28"
_LEAST = {LENGTH: 1024, BATCH: 1, TOKENS: 1024}
_USUAL = {BATCH: 256, TOKENS: 8192}


def explain_log(
    patterns: Sequence[Pattern], log_tail: str, spec: Mapping[str, Any] | None
) -> Failure | None:
    """Return what the words that stand last mean, or None where none are known."""
    tail = log_tail[-_TAIL_CHARACTERS:]
    best: tuple[re.Match[str], Pattern] | None = None
    for pattern in patterns:
        match = pattern.last_match(tail)
        if match and (best is None or match.start() > best[0].start()):
            best = (match, pattern)
    if best is None:
        return None
    seen = CrashEvidence(subject="The engine", exit_code=1, log_tail=tail, spec=spec or {})
    return _failure(best[1], best[0], seen)


def log_pattern(
    code: str,
    blame: Blame,
    expression: str,
    sentence: str,
    hint: str,
    *,
    text: str,
    source: str,
    field: str | None = None,
    fix: Any = None,
    holds: Any = None,
) -> Pattern:
    """Return a pattern with the line it was made for and where that is known from."""
    return Pattern(
        code=code, blame=blame, expression=re.compile(expression), sentence=sentence, hint=hint,
        field=field, fix=fix, holds=holds,
        example=Example(text=text, source=source, checked=_CHECKED),
    )  # fmt: skip


def half(name: str) -> Any:
    """Return the fix that halves a limit of either stack."""

    def fix(evidence: CrashEvidence) -> Fix | None:
        block = limits_block(evidence)
        now = evidence.asked(f"{block}.{name}") or _USUAL.get(name)
        if not isinstance(now, int) or now // 2 < _LEAST[name]:
            return None
        return {f"{block}.{name}": now // 2}

    return fix


def less_kv_cache(evidence: CrashEvidence) -> Fix | None:
    """Leave a tenth more of the free memory to everything that is not KV cache."""
    now = evidence.asked(KV_FRACTION)
    lower = round(float(now or 0.9) - 0.1, 2)
    if evidence.asked("trt_llm.inference_stack") == "v2" or lower < 0.3:
        return None
    return {KV_FRACTION: lower}


def no_drafts(evidence: CrashEvidence) -> Fix | None:
    """Serve without speculation, which answers the same."""
    return {SPECULATOR: None} if evidence.asked(SPECULATOR) else None


def chunked_prefill(evidence: CrashEvidence) -> Fix | None:
    """Let long prompts in by pieces."""
    if evidence.asked("trt_llm.inference_stack") == "v2":
        return {"trt_llm.runtime.enable_chunked_prefill": True}
    return (
        {"trt_llm.runtime.enable_chunked_context": True} if not evidence.asked(SPECULATOR) else None
    )


def limits_block(evidence: CrashEvidence) -> str:
    """Return where lengths and batch size stand in this config's stack."""
    is_v2 = evidence.asked("trt_llm.inference_stack") == "v2"
    return "trt_llm.runtime" if is_v2 else "trt_llm.build"


def codes(patterns: Iterable[Pattern]) -> tuple[str, ...]:
    """Return the codes of a table."""
    return tuple(pattern.code for pattern in patterns)


def _failure(pattern: Pattern, match: re.Match[str], evidence: CrashEvidence) -> Failure:
    words = evidence.words | {name: value or "" for name, value in match.groupdict().items()}
    text = match.string
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.start())
    return Failure(
        code=pattern.code,
        blame=pattern.blame,
        sentence=pattern.say(words),
        field=pattern.field,
        hint=pattern.hint.format_map(words),
        fix=pattern.fix(evidence) if pattern.fix else None,
        detail=text[start : end if end >= 0 else len(text)].strip()[:_DETAIL_CHARACTERS],
    )

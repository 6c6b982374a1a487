"""EH43: sizes of lookahead that suit the content and the batch, where pages differ."""

from controlplane.domain.counted import counted
from controlplane.domain.facts import sources
from controlplane.domain.facts.gpus import MIB
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.speculation.lookahead import (
    RECOMMENDED,
    SPECULATOR,
    draft_example,
    draft_length,
    lookahead_of,
    uses_lookahead,
)
from controlplane.domain.spec.trt_llm import TrtLlmV1

_WINDOW = f"{SPECULATOR}.lookahead_windows_size"
_NGRAM = f"{SPECULATOR}.lookahead_ngram_size"
_VERIFY = f"{SPECULATOR}.lookahead_verification_set_size"
_BATCH = "trt_llm.build.max_batch_size"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_GUIDE = sources.lookahead_guide
_LARGEST_WINDOW, _LARGEST_NGRAM, _LARGEST_VERIFICATION = 7, 32, 7
_LONG_NGRAM = 32
_NOTABLE_BYTES = 512 * MIB


def _sizes(c: Context) -> tuple[int, int, int] | None:
    """Return window, n-gram and verification sizes once all three are written."""
    given = lookahead_of(c)
    if given is None:
        return None
    window, ngram = given.lookahead_windows_size, given.lookahead_ngram_size
    verification = given.lookahead_verification_set_size
    if window is None or ngram is None or verification is None:
        return None
    return window, ngram, verification


def _is_dynamic(c: Context) -> bool:
    sizes = _sizes(c)
    return sizes is not None and (sizes[0], sizes[2]) == (1, 1)


def _ngram(c: Context) -> int:
    sizes = _sizes(c)
    return sizes[1] if sizes else 0


def _dynamic_sizes(_: Context) -> Patch:
    return {_WINDOW: 1, _VERIFY: 1}


def _with(window: int, ngram: int, verification: int, **changes: object) -> Example:
    sizes = {
        "lookahead_windows_size": window,
        "lookahead_ngram_size": ngram,
        "lookahead_verification_set_size": verification,
        "enable_b10_lookahead": True,
    }
    return draft_example({**RECOMMENDED, **sizes}, **changes)


def _is_coder(c: Context) -> bool:
    return c.spec.checkpoint is not None and "code" in c.spec.checkpoint.repo.lower()


CODE_WINDOW = Rule(
    code="EH430",
    name="wide-window-for-code",
    severity=Severity.HINT,
    fields=at(_WINDOW, _VERIFY),
    concerns=lambda c: uses_lookahead(c) and _is_coder(c),
    when=lambda c: _sizes(c) is not None and not _is_dynamic(c),
    message=lambda c: (
        f"Window and verification set are {(_sizes(c) or (0, 0, 0))[0]} and "
        f"{(_sizes(c) or (0, 0, 0))[2]} for code. The pages differ: 1 and 1 in the coding example, "
        "1 and 3 under tuning, 7 and 7 under recommended configurations. 1 and 1 turn on dynamic "
        "length, which drafts as far as the match is good."
    ),
    fix=Fix(label="Use 1 and 1", patch=_dynamic_sizes, safe=True),
    source=_GUIDE("Performance tuning"),
    bad=_with(7, 5, 7, **{_REPO: "/checkpoints/qwen2.5-coder"}),
    good=_with(1, 8, 1, **{_REPO: "/checkpoints/qwen2.5-coder"}),
)

SHORT_PATTERN = Rule(
    code="EH431",
    name="short-patterns-for-prompt-lookup",
    severity=Severity.HINT,
    fields=at(_NGRAM),
    concerns=_is_dynamic,
    when=lambda c: _ngram(c) < _LONG_NGRAM,
    message=lambda c: (
        f"With n-grams of {_ngram(c)} a step accepts {counted(_ngram(c), 'token')} or so at best. "
        "The pages promise up to 2 times, 2 to 4 times, and for prompt lookup 10 times the speed "
        "and 4,000 tokens a second, which takes about 18 accepted tokens a step on an H100: 32 "
        "gets there on edited code, 8 does not."
    ),
    fix=Fix(label="Use 32", patch=lambda _: {_NGRAM: _LONG_NGRAM}, safe=True),
    source=sources.measured("step time of Qwen3-8B on one H100"),
    bad=_with(1, 8, 1),
    good=_with(1, 32, 1),
)

UNUSUAL_SIZES = Rule(
    code="EH432",
    name="sizes-beyond-the-guide",
    severity=Severity.HINT,
    fields=at(_WINDOW, _NGRAM, _VERIFY),
    concerns=uses_lookahead,
    when=lambda c: (
        (sizes := _sizes(c)) is not None
        and (
            sizes[0] > _LARGEST_WINDOW
            or sizes[1] > _LARGEST_NGRAM
            or sizes[2] > _LARGEST_VERIFICATION
        )
    ),
    message=lambda c: (
        f"Sizes {', '.join(map(str, _sizes(c) or ()))}: the guide goes up to a window of "
        f"{_LARGEST_WINDOW}, n-grams of {_LARGEST_NGRAM} (4 for simple, 8 for general, 16 to 32 "
        f"for very predictable text) and {_LARGEST_VERIFICATION} to verify (1, 3 or 5 by "
        "confidence)."
    ),
    fix=Fix(
        label="Use the recommended sizes",
        patch=lambda _: {_WINDOW: 3, _NGRAM: 8, _VERIFY: 3},
        safe=True,
    ),
    source=_GUIDE("Configuration parameters"),
    bad=_with(9, 8, 3),
    good=_with(3, 8, 3),
)

COSTLY_VERIFICATION = Rule(
    code="EH433",
    name="verification-that-is-not-free",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("plan",),
    fields=at(_BATCH, SPECULATOR),
    concerns=lambda c: uses_lookahead(c) and draft_length(c) > 0,
    when=lambda c: (
        c.plan.speed is not None
        and 0 < c.plan.speed.free_verification_tokens < _step_with_drafts(c)
    ),
    message=lambda c: (
        f"{c.spec.max_batch_size} rows of {draft_length(c)} drafts and one token are "
        f"{c.spec.max_batch_size * (draft_length(c) + 1):,} to verify in a step; `{c.gpu.kind}` "
        f"does {_free_tokens(c)} in the time that it reads the weights. Up to a batch of "
        f"{_free_batch(c)} verification is free; the guide says 1 to 8 requests for the most gain."
    ),
    source=sources.measured("verification against weight reads"),
    bad=_with(3, 8, 3, **{_BATCH: 64}),
    good=_with(3, 8, 3, **{_BATCH: 4}),
)


def _free_tokens(c: Context) -> int:
    return c.plan.speed.free_verification_tokens if c.plan.speed else 0


def _free_batch(c: Context) -> int:
    return _free_tokens(c) // (draft_length(c) + 1)


def _draft_bytes(c: Context) -> int:
    return c.spec.max_batch_size * (draft_length(c) + 1) * c.plan.kv_bytes_per_token


DRAFT_MEMORY = Rule(
    code="EH434",
    name="memory-of-drafts",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("plan",),
    fields=at(_BATCH, SPECULATOR),
    concerns=lambda c: uses_lookahead(c) and draft_length(c) > 0,
    when=lambda c: _draft_bytes(c) >= _NOTABLE_BYTES,
    message=lambda c: (
        f"Drafts of {counted(c.spec.max_batch_size, 'request')} keep "
        f"{_draft_bytes(c) / MIB:,.0f} MiB of KV cache beside the accepted tokens. "
        "One page says that lookahead needs no more memory, "
        "another that it needs little."
    ),
    source=_GUIDE("Memory overhead"),
    bad=_with(7, 5, 7, **{_BATCH: 128}),
    good=_with(1, 8, 1, **{_BATCH: 8}),
)

GIVEN_LENGTH = Rule(
    code="EH435",
    name="draft-length-beside-dynamic-sizes",
    severity=Severity.HINT,
    fields=at(f"{SPECULATOR}.num_draft_tokens"),
    concerns=_is_dynamic,
    when=lambda c: (given := lookahead_of(c)) is not None and given.num_draft_tokens is not None,
    message=lambda c: (
        "`num_draft_tokens` caps what dynamic length (window and verification 1) would draft; the "
        f"sizes make {draft_length(c)} by themselves."
    ),
    fix=Fix(
        label="Leave it to the sizes",
        patch=lambda _: {f"{SPECULATOR}.num_draft_tokens": None},
        safe=True,
    ),
    source=_GUIDE("Recommended configurations"),
    bad=draft_example(
        {
            **RECOMMENDED,
            "lookahead_windows_size": 1,
            "lookahead_verification_set_size": 1,
            "num_draft_tokens": 20,
        }
    ),
    good=_with(1, 8, 1),
)


def _step_with_drafts(c: Context) -> int:
    return c.spec.max_batch_size * (draft_length(c) + 1)


DRAFTS_BEYOND_STEP = Rule(
    code="EH436",
    name="drafts-beyond-one-step",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=at("trt_llm.build.max_num_tokens", _BATCH),
    concerns=lambda c: isinstance(c.spec.trt_llm, TrtLlmV1) and draft_length(c) > 0,
    when=lambda c: _step_with_drafts(c) > c.spec.max_num_tokens,
    message=lambda c: (
        f"A full batch of {c.spec.max_batch_size} with {draft_length(c)} drafts each is "
        f"{_step_with_drafts(c):,} tokens a step, above `max_num_tokens` "
        f"{c.spec.max_num_tokens:,}: the engine raises the limit, and its memory with it."
    ),
    fix=Fix(
        label="Lower the batch",
        patch=lambda c: {_BATCH: max(1, c.spec.max_num_tokens // (draft_length(c) + 1))},
        safe=True,
    ),
    source=sources.tensorrt_llm("max_num_tokens with a draft length"),
    bad=_with(7, 5, 7, **{_BATCH: 64, "trt_llm.build.max_num_tokens": 1024}),
    good=_with(1, 8, 1, **{_BATCH: 8}),
)

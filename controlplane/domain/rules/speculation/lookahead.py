"""EH4: lookahead decoding."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import FP4_CAPABILITY
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.choices import SpeculativeDecodingMode
from controlplane.domain.spec.engine_build import Speculator

SPECULATOR = "trt_llm.build.speculator"
_BATCH = "trt_llm.build.max_batch_size"
LARGEST_BATCH = 64
LONG_DRAFT = 512
LONGEST_DRAFT = 2048
_SIZES = {
    "lookahead_windows_size": 3,
    "lookahead_ngram_size": 8,
    "lookahead_verification_set_size": 3,
}
"""Recommended for general use."""
RECOMMENDED = {"speculative_decoding_mode": "LOOKAHEAD_DECODING", **_SIZES}
_H100 = {"resources.accelerator": "H100", _BATCH: 32}


def draft_example(speculator: dict[str, object], **changes: object) -> Example:
    """Return an example with this speculator on one H100."""
    return Example(config={**_H100, SPECULATOR: speculator, **changes}, checkpoint=LLAMA_8B)


def lookahead_of(c: Context) -> Speculator | None:
    speculator = c.spec.speculator
    mode = SpeculativeDecodingMode.LOOKAHEAD_DECODING
    return speculator if speculator and speculator.speculative_decoding_mode is mode else None


def uses_lookahead(c: Context) -> bool:
    return lookahead_of(c) is not None


def draft_length(c: Context) -> int:
    """Return the drafted tokens, -1 while the sizes do not tell."""
    speculator = lookahead_of(c)
    length = speculator.draft_length if speculator else None
    return -1 if length is None else length


def _missing_sizes(c: Context) -> list[str]:
    speculator = lookahead_of(c)
    return [name for name in _SIZES if speculator and getattr(speculator, name) is None]


def _recommended_sizes(_: Context) -> Patch:
    return {
        **{f"{SPECULATOR}.{name}": size for name, size in _SIZES.items()},
        f"{SPECULATOR}.num_draft_tokens": None,
    }


def _sizes(c: Context) -> str:
    speculator = lookahead_of(c)
    return ", ".join(str(getattr(speculator, name, None)) for name in _SIZES)


WITHOUT_SIZES = Rule(
    code="EH401",
    name="lookahead-without-sizes",
    severity=Severity.ERROR,
    fields=lambda c: tuple(f"{SPECULATOR}.{name}" for name in _missing_sizes(c)) or (SPECULATOR,),
    when=lambda c: bool(_missing_sizes(c)),
    message=lambda c: (
        "Lookahead decoding needs all three sizes; missing: "
        + ", ".join(f"`{name}`" for name in _missing_sizes(c))
        + "."
    ),
    fix=Fix(
        label="Add the recommended sizes",
        patch=lambda c: {f"{SPECULATOR}.{name}": _SIZES[name] for name in _missing_sizes(c)},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, speculator"),
    bad=draft_example(
        {"speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 5}
    ),
    good=draft_example(RECOMMENDED),
)

LARGE_BATCH = Rule(
    code="EH402",
    name="lookahead-with-large-batch",
    severity=Severity.WARNING,
    fields=at(_BATCH, SPECULATOR),
    concerns=uses_lookahead,
    when=lambda c: c.spec.max_batch_size > LARGEST_BATCH,
    message=lambda c: (
        f"`max_batch_size` is {c.spec.max_batch_size}; beyond {LARGEST_BATCH} rows verifying "
        "drafts costs more than it saves. The guide recommends 32 or 64, and 1 to 8 for the most "
        "gain, while an example of the docs has 128."
    ),
    fix=Fix(
        label=f"Lower the batch to {LARGEST_BATCH}",
        patch=lambda _: {_BATCH: LARGEST_BATCH},
        safe=True,
    ),
    source=sources.lookahead_guide("Batch size considerations"),
    bad=draft_example(RECOMMENDED, **{_BATCH: 128}),
    good=draft_example(RECOMMENDED),
)

DRAFT_TOO_LONG = Rule(
    code="EH403",
    name="draft-beyond-2048-tokens",
    severity=Severity.ERROR,
    fields=at(f"{SPECULATOR}.lookahead_ngram_size", f"{SPECULATOR}.lookahead_windows_size"),
    when=lambda c: max(draft_length(c), _given_draft(c) or 0) > LONGEST_DRAFT,
    message=lambda c: (
        f"The sizes {_sizes(c)} draft {draft_length(c)} tokens a step"
        + (f" and `num_draft_tokens` is {given}" if (given := _given_draft(c)) else "")
        + f"; the limit is {LONGEST_DRAFT}."
    ),
    fix=Fix(label="Use the recommended sizes", patch=_recommended_sizes, safe=True),
    source=sources.truss("trt_llm_config.py, draft length"),
    bad=draft_example(
        {
            **RECOMMENDED,
            "lookahead_windows_size": 64,
            "lookahead_ngram_size": 64,
            "lookahead_verification_set_size": 64,
        }
    ),
    good=draft_example(RECOMMENDED),
)

DRAFT_LONG = Rule(
    code="EH404",
    name="draft-beyond-512-tokens",
    severity=Severity.WARNING,
    fields=at(f"{SPECULATOR}.lookahead_ngram_size", f"{SPECULATOR}.lookahead_windows_size"),
    when=lambda c: LONG_DRAFT < draft_length(c) <= LONGEST_DRAFT,
    message=lambda c: (
        f"The sizes {_sizes(c)} draft {draft_length(c)} tokens a step; beyond {LONG_DRAFT} most "
        "of them are verified in vain."
    ),
    fix=Fix(label="Use the recommended sizes", patch=_recommended_sizes, safe=True),
    source=sources.truss("trt_llm_config.py, draft length"),
    bad=draft_example(
        {
            **RECOMMENDED,
            "lookahead_windows_size": 10,
            "lookahead_ngram_size": 40,
            "lookahead_verification_set_size": 10,
        }
    ),
    good=draft_example(RECOMMENDED),
)

DRAFT_EMPTY = Rule(
    code="EH405",
    name="empty-draft",
    severity=Severity.ERROR,
    fields=at(f"{SPECULATOR}.lookahead_ngram_size"),
    when=lambda c: draft_length(c) == 0,
    message=lambda c: f"The sizes {_sizes(c)} draft no token at all.",
    fix=Fix(label="Use the recommended sizes", patch=_recommended_sizes, safe=True),
    source=sources.truss("trt_llm_config.py, draft length"),
    bad=draft_example(
        {
            **RECOMMENDED,
            "lookahead_windows_size": 1,
            "lookahead_ngram_size": 1,
            "lookahead_verification_set_size": 1,
        }
    ),
    good=draft_example(RECOMMENDED),
)


def _given_draft(c: Context) -> int | None:
    speculator = lookahead_of(c)
    return speculator.num_draft_tokens if speculator else None


DRAFT_BELOW_SIZES = Rule(
    code="EH406",
    name="fewer-draft-tokens-than-the-sizes-make",
    severity=Severity.ERROR,
    fields=at(f"{SPECULATOR}.num_draft_tokens"),
    when=lambda c: 0 < (_given_draft(c) or 0) < draft_length(c),
    message=lambda c: (
        f"`num_draft_tokens` is {_given_draft(c)}, and the sizes {_sizes(c)} make "
        f"{draft_length(c)}."
    ),
    fix=Fix(
        label="Leave it to the sizes",
        patch=lambda _: {f"{SPECULATOR}.num_draft_tokens": None},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, draft length"),
    bad=draft_example({**RECOMMENDED, "num_draft_tokens": 4}),
    good=draft_example({**RECOMMENDED, "num_draft_tokens": 41}),
)

ON_BLACKWELL = Rule(
    code="EH408",
    name="lookahead-on-blackwell",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(SPECULATOR, "resources.accelerator"),
    concerns=uses_lookahead,
    when=lambda c: c.gpu.has_capability(*FP4_CAPABILITY),
    message=lambda c: (
        f"Lookahead decoding is not fully supported on `{c.gpu.kind}`; it is on A10G, L4, A100, "
        "H100_40GB, H100 and H200."
    ),
    fix=Fix(label="Remove lookahead", patch=lambda _: {SPECULATOR: None}, safe=False),
    source=sources.lookahead_guide("Limitations, Blackwell support"),
    bad=on_trtllm(draft_example(RECOMMENDED, **{"resources.accelerator": "B200"})),
    good=on_trtllm(draft_example(RECOMMENDED)),
)

_PAGED = "trt_llm.build.plugin_configuration"
WITHOUT_PAGING = Rule(
    code="EH409",
    name="lookahead-without-paged-attention",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(f"{_PAGED}.paged_kv_cache", f"{_PAGED}.use_paged_context_fmha"),
    concerns=uses_lookahead,
    when=lambda c: (
        not (
            c.spec.engine_build.plugin_configuration.paged_kv_cache
            and c.spec.engine_build.plugin_configuration.use_paged_context_fmha
        )
    ),
    message=lambda _: (
        "Lookahead decoding needs both `paged_kv_cache` and `use_paged_context_fmha` on."
    ),
    fix=Fix(
        label="Turn both on",
        patch=lambda _: {
            f"{_PAGED}.paged_kv_cache": True,
            f"{_PAGED}.use_paged_context_fmha": True,
        },
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, speculator"),
    bad=on_trtllm(draft_example(RECOMMENDED, **{_PAGED: {"use_paged_context_fmha": False}})),
    good=on_trtllm(draft_example(RECOMMENDED)),
)

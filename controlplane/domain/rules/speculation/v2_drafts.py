"""EH45: Eagle, MTP and n-gram drafts of the v2 stack."""

from difflib import get_close_matches
from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.facts.engine_argument_names import (
    DECODING_TYPES,
    OF_THE_REMOVED_BACKEND,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.rule import GPU_RUNTIMES, TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument, v2_example

_SPECULATION = f"{ARGUMENTS}.speculative_config"
_KIND = f"{_SPECULATION}.decoding_type"
_BY_LOWER = {name.lower(): name for name in DECODING_TYPES}
_NEED_A_LENGTH = frozenset({"NGram", "SA", "Eagle", "Eagle3", "Draft_Target", "PARD"})
_NEED_A_MODEL = frozenset({"Eagle", "Eagle3", "Draft_Target", "PARD"})
_WITHOUT_OVERLAP = frozenset({"NGram", "User_Provided"})
_MODEL_NAMES = ("speculative_model", "speculative_model_dir", "speculative_model_path")
_SOURCE = sources.tensorrt_llm("speculative_config")
_EAGLE = {"decoding_type": "Eagle", "max_draft_len": 3, "speculative_model_dir": "/draft"}
_NGRAM = {"decoding_type": "NGram", "max_draft_len": 8}


def _speculation(c: Context) -> dict[str, Any]:
    given = argument(c, "speculative_config")
    return given if isinstance(given, dict) else {}


def _drafter_name(c: Context) -> str:
    return str(_speculation(c).get("decoding_type", ""))


def kind(c: Context) -> str | None:
    """Return the decoding type by its own spelling; letters' case does not count."""
    return _BY_LOWER.get(_drafter_name(c).lower())


def _example(speculation: dict[str, Any], **arguments: Any) -> Example:
    return v2_example({"speculative_config": speculation, **arguments})


def _closest(c: Context) -> str | None:
    matches = get_close_matches(_drafter_name(c).lower(), _BY_LOWER, n=1, cutoff=0.6)
    return _BY_LOWER[matches[0]] if matches else None


UNKNOWN_TYPE = Rule(
    code="EH450",
    name="unknown-decoding-type",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_KIND),
    concerns=lambda c: bool(_speculation(c)),
    when=lambda c: kind(c) is None,
    message=lambda c: (
        f"`decoding_type` is `{_drafter_name(c)}`; TensorRT-LLM knows "
        + ", ".join(f"`{name}`" for name in DECODING_TYPES if name not in OF_THE_REMOVED_BACKEND)
        + "."
    ),
    fix=Fix(
        label="Use the nearest",
        patch=lambda c: {_KIND: _closest(c)} if _closest(c) else None,
        safe=False,
    ),
    source=_SOURCE,
    bad=on_trtllm(_example({"decoding_type": "N-Gram", "max_draft_len": 8})),
    good=on_trtllm(_example(_NGRAM)),
)

REMOVED_TYPE = Rule(
    code="EH451",
    name="speculation-of-compiled-engines",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_KIND),
    when=lambda c: kind(c) in OF_THE_REMOVED_BACKEND,
    message=lambda c: (
        f"`{kind(c)}` worked in compiled engines only, which TensorRT-LLM no longer builds; "
        "n-gram drafts take its place."
    ),
    fix=Fix(label="Draft by n-grams", patch=lambda _: {_SPECULATION: dict(_NGRAM)}, safe=False),
    source=_SOURCE,
    bad=on_trtllm(_example({"decoding_type": "Lookahead"})),
    good=on_trtllm(_example(_NGRAM)),
)

NO_DRAFT_MODEL = Rule(
    code="EH452",
    name="drafts-without-a-draft-model",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_SPECULATION),
    when=lambda c: (
        kind(c) in _NEED_A_MODEL and not any(_speculation(c).get(name) for name in _MODEL_NAMES)
    ),
    message=lambda c: (
        f"`{kind(c)}` drafts with a model of its own, and `speculative_model_dir` names none."
    ),
    fix=Fix(label="Do without drafts", patch=lambda _: {_SPECULATION: None}, safe=True),
    source=_SOURCE,
    bad=on_trtllm(_example({"decoding_type": "Eagle", "max_draft_len": 3})),
    good=on_trtllm(_example(_EAGLE)),
)

NO_LENGTH = Rule(
    code="EH453",
    name="drafts-without-a-length",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(f"{_SPECULATION}.max_draft_len"),
    when=lambda c: (
        kind(c) in _NEED_A_LENGTH
        and isinstance(given := _speculation(c).get("max_draft_len"), int)
        and given < 1
    ),
    message=lambda c: (
        f"`max_draft_len` is {_speculation(c).get('max_draft_len')}; `{kind(c)}` drafts one token "
        "or more."
    ),
    fix=Fix(label="Draft 4", patch=lambda _: {f"{_SPECULATION}.max_draft_len": 4}, safe=True),
    source=_SOURCE,
    bad=on_trtllm(_example({"decoding_type": "NGram", "max_draft_len": 0})),
    good=on_trtllm(_example(_NGRAM)),
)

NO_PREDICTION_LAYERS = Rule(
    code="EH454",
    name="prediction-layers-that-are-not-there",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_KIND),
    concerns=lambda c: kind(c) == "MTP" and argument(c, "model_path") is None,
    when=lambda c: c.engine.lacks_prediction_layers(c.checkpoint),
    message=lambda c: (
        f"`MTP` drafts with prediction layers of the checkpoint, and the config.json of "
        f"`{c.checkpoint.architecture}` counts none (`num_nextn_predict_layers`)."
    ),
    fix=Fix(label="Draft by n-grams", patch=lambda _: {_SPECULATION: dict(_NGRAM)}, safe=True),
    source=_SOURCE,
    bad=on_trtllm(_example({"decoding_type": "MTP", "num_nextn_predict_layers": 1})),
    good=on_trtllm(
        Example(
            config=_example({"decoding_type": "MTP"}).config,
            checkpoint=LLAMA_8B.model_copy(update={"draft_layers": 1}),
        )
    ),
)

OVERLAP = Rule(
    code="EH455",
    name="overlap-under-drafts",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(f"{ARGUMENTS}.disable_overlap_scheduler", _KIND),
    concerns=lambda c: kind(c) in _WITHOUT_OVERLAP,
    when=lambda c: argument(c, "disable_overlap_scheduler") is not True,
    message=lambda c: (
        f"`{kind(c)}` runs without the overlap scheduler: the engine turns it off at start with a "
        "warning. Write it down, so that the file says what happens."
    ),
    fix=Fix(
        label="Turn it off in the file",
        patch=lambda _: {f"{ARGUMENTS}.disable_overlap_scheduler": True},
        safe=True,
    ),
    source=sources.tensorrt_llm("overlap scheduler"),
    bad=on_trtllm(_example(_NGRAM)),
    good=on_trtllm(_example(_NGRAM, disable_overlap_scheduler=True)),
)

GUIDED_OVERLAP = Rule(
    code="EH456",
    name="structured-output-under-overlap",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(f"{ARGUMENTS}.guided_decoding_backend", f"{ARGUMENTS}.disable_overlap_scheduler"),
    concerns=lambda c: bool(argument(c, "guided_decoding_backend")),
    when=lambda c: argument(c, "disable_overlap_scheduler") is not True,
    message=lambda c: (
        f"`guided_decoding_backend` is `{argument(c, 'guided_decoding_backend')}`, and the hosted "
        "product's v2 page excludes structured output under the overlap scheduler, which is on."
    ),
    fix=Fix(
        label="Turn the overlap scheduler off",
        patch=lambda _: {f"{ARGUMENTS}.disable_overlap_scheduler": True},
        safe=True,
    ),
    source=sources.bis_guide("structured outputs"),
    bad=on_trtllm(v2_example({"guided_decoding_backend": "xgrammar"})),
    good=on_trtllm(
        v2_example({"guided_decoding_backend": "xgrammar", "disable_overlap_scheduler": True})
    ),
)

SHARED_POOL = Rule(
    code="EH457",
    name="drafts-shared-between-requests",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(f"{_SPECULATION}.is_public_pool"),
    concerns=lambda c: kind(c) == "NGram",
    when=lambda c: _speculation(c).get("is_public_pool") is True,
    message=lambda _: (
        "`is_public_pool` keeps the n-grams of all requests in one pool that is never pruned: "
        "memory grows, and timing tells one tenant what another has said."
    ),
    fix=Fix(
        label="Keep pools apart",
        patch=lambda _: {f"{_SPECULATION}.is_public_pool": False},
        safe=True,
    ),
    source=sources.tensorrt_llm("NGramDecodingConfig"),
    bad=on_trtllm(_example({**_NGRAM, "is_public_pool": True})),
    good=on_trtllm(_example({**_NGRAM, "is_public_pool": False})),
)

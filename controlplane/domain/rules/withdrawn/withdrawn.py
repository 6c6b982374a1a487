"""EH9: settings that were taken back, what replaced them, and settings that are only carried."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.rules.rule import ALL_RUNTIMES, Fix, Rule, Severity, at
from controlplane.domain.rules.speculation.lookahead import RECOMMENDED, SPECULATOR
from controlplane.domain.spec.choices import BaseModelKind, SpeculativeDecodingMode
from controlplane.domain.spec.spec import Spec

_BASE_MODEL = "trt_llm.build.base_model"
_FMHA = "trt_llm.build.plugin_configuration.use_fp8_context_fmha"
_TAGS = "model_metadata.tags"
_RENAMED = frozenset(
    {BaseModelKind.PALMYRA, BaseModelKind.QWEN, BaseModelKind.LLAMA, BaseModelKind.MISTRAL,
     BaseModelKind.DEEPSEEK}
)  # fmt: skip
_OPENAI_TAG = "openai-compatible"
_LEGACY_TAG = "force-legacy-api-non-openai-compatible"
_CARRIED = (
    "weights", "model_cache", "requirements", "requirements_file", "system_packages",
    "build_commands", "base_image", "docker_server", "external_data", "bdn", "bis_llm",
    "training_checkpoints", "build", "runtime", "environment_variables", "live_reload",
)  # fmt: skip


def _external_drafts(c: Context) -> bool:
    speculator = c.spec.speculator
    mode = SpeculativeDecodingMode.DRAFT_TOKENS_EXTERNAL
    return speculator is not None and speculator.speculative_decoding_mode is mode


def _carried(c: Context) -> list[str]:
    return [
        name
        for name in _CARRIED
        if getattr(c.spec, name) != Spec.model_fields[name].get_default(call_default_factory=True)
    ]


RENAMED_BASE_MODEL = Rule(
    code="EH901",
    name="base-model-by-family",
    severity=Severity.ERROR,
    fields=at(_BASE_MODEL),
    when=lambda c: c.spec.base_model in _RENAMED,
    message=lambda c: (
        f"`base_model: {c.spec.base_model}` is withdrawn: every text generator is a `decoder`, and "
        "the family is read from the checkpoint."
    ),
    fix=Fix(label="Use decoder", patch=lambda _: {_BASE_MODEL: "decoder"}, safe=True),
    source=sources.truss("trt_llm_config.py, base models"),
    bad=Example(config={_BASE_MODEL: "llama"}),
    good=Example(config={_BASE_MODEL: "decoder"}),
)

WHISPER = Rule(
    code="EH902",
    name="whisper-as-base-model",
    severity=Severity.ERROR,
    fields=at(_BASE_MODEL),
    when=lambda c: c.spec.base_model is BaseModelKind.WHISPER,
    message=lambda _: (
        "`base_model: whisper` is withdrawn: speech recognition is a service of its own in the "
        "hosted product, and no runtime here transcribes audio."
    ),
    source=sources.truss("trt_llm_config.py, base models"),
    bad=Example(config={_BASE_MODEL: "whisper"}),
    good=Example(config={_BASE_MODEL: "decoder"}),
)

EXTERNAL_DRAFTS = Rule(
    code="EH903",
    name="external-draft-tokens",
    severity=Severity.ERROR,
    runtimes=ALL_RUNTIMES,
    fields=at(f"{SPECULATOR}.speculative_decoding_mode"),
    when=_external_drafts,
    message=lambda _: (
        "`DRAFT_TOKENS_EXTERNAL` (the default of `speculator`) is discontinued; "
        "`LOOKAHEAD_DECODING` replaces it and needs no draft model."
    ),
    fix=Fix(
        label="Change to lookahead decoding",
        patch=lambda _: {SPECULATOR: {**RECOMMENDED, "enable_b10_lookahead": True}},
        safe=False,
    ),
    source=sources.lookahead_guide("Deprecation: DRAFT_TOKENS_EXTERNAL mode"),
    bad=Example(
        config={
            "resources.accelerator": "H100",
            SPECULATOR: {"num_draft_tokens": 4},
            "trt_llm.build.max_batch_size": 32,
        },
        checkpoint=LLAMA_8B,
    ),
    good=Example(
        config={
            "resources.accelerator": "H100",
            SPECULATOR: RECOMMENDED,
            "trt_llm.build.max_batch_size": 32,
        },
        checkpoint=LLAMA_8B,
    ),
)

BOTH_TAGS = Rule(
    code="EH904",
    name="both-api-tags",
    severity=Severity.ERROR,
    fields=at(_TAGS),
    when=lambda c: {_OPENAI_TAG, _LEGACY_TAG} <= set(c.spec.model_metadata.tags),
    message=lambda _: f"`{_OPENAI_TAG}` and `{_LEGACY_TAG}` exclude each other.",
    fix=Fix(
        label="Keep the OpenAI shape",
        patch=lambda c: {_TAGS: [tag for tag in c.spec.model_metadata.tags if tag != _LEGACY_TAG]},
        safe=False,
    ),
    source=sources.truss("truss_config.py, tags"),
    bad=Example(config={_TAGS: [_OPENAI_TAG, _LEGACY_TAG]}),
    good=Example(config={_TAGS: [_OPENAI_TAG]}),
)

LEGACY_TAG = Rule(
    code="EH905",
    name="legacy-api-tag",
    severity=Severity.WARNING,
    fields=at(_TAGS),
    when=lambda c: (
        _LEGACY_TAG in c.spec.model_metadata.tags and _OPENAI_TAG not in c.spec.model_metadata.tags
    ),
    message=lambda _: (
        f"`{_LEGACY_TAG}` has no effect: endpoints here always speak the OpenAI shape."
    ),
    fix=Fix(
        label="Remove the tag",
        patch=lambda c: {_TAGS: [tag for tag in c.spec.model_metadata.tags if tag != _LEGACY_TAG]},
        safe=True,
    ),
    source=sources.truss("truss_config.py, tags"),
    bad=Example(config={_TAGS: [_LEGACY_TAG]}),
    good=Example(config={_TAGS: [_OPENAI_TAG]}),
)

FP8_CONTEXT = Rule(
    code="EH906",
    name="fp8-context-attention",
    severity=Severity.HINT,
    fields=at(_FMHA),
    when=lambda c: c.spec.engine_build.plugin_configuration.use_fp8_context_fmha,
    message=lambda _: (
        "`use_fp8_context_fmha` has no effect: the engine decides it by itself. The docs still ask "
        "for an 8-bit KV cache beside it, and their own example pairs it with plain `fp8`."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {_FMHA: None}, safe=True),
    source=sources.truss("trt_llm_config.py, plugin configuration"),
    bad=Example(config={_FMHA: True}),
    good=Example(),
)

CARRIED = Rule(
    code="EH907",
    name="settings-that-are-only-carried",
    severity=Severity.HINT,
    fields=lambda c: tuple(_carried(c)) or ("trt_llm",),
    may_mark=_CARRIED,
    when=lambda c: bool(_carried(c)),
    message=lambda c: (
        "Kept in the file and without effect here: "
        + ", ".join(f"`{name}`" for name in _carried(c))
        + ". They shape the hosted product's container, and engines here run without one."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: dict.fromkeys(_carried(c)),
        safe=True,
    ),
    source=sources.truss("truss_config.py"),
    bad=Example(config={"requirements": ["numpy"]}),
    good=Example(),
)

"""EH41: what lookahead excludes, and settings beside it that have no effect."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import FP4_CAPABILITY
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.speculation.lookahead import (
    RECOMMENDED,
    SPECULATOR,
    draft_example,
    lookahead_of,
    uses_lookahead,
)

_B10 = f"{SPECULATOR}.enable_b10_lookahead"
_TABLE_SIZE = "trt_llm.build.max_prompt_embedding_table_size"
_LOGITS = "trt_llm.build.gather_all_token_logits"
_BASE = "trt_llm.build.base_model"
_FRACTION = "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
_ACCELERATOR = "resources.accelerator"
_LISTED = frozenset({"A10G", "L4", "A100", "H100_40GB", "H100", "H200"})
_GUIDE = sources.lookahead_guide
_WITH_B10 = {**RECOMMENDED, "enable_b10_lookahead": True}
_USUAL_FRACTION = 0.9


def _remnants(c: Context) -> list[str]:
    speculator = lookahead_of(c)
    if speculator is None:
        return []
    return [name for name in ("checkpoint_repository", "build") if getattr(speculator, name)]


B10_IN_ANOTHER_MODE = Rule(
    code="EH410",
    name="b10-lookahead-in-another-mode",
    severity=Severity.WARNING,
    fields=at(_B10),
    concerns=lambda c: c.spec.speculator is not None,
    when=lambda c: (
        c.spec.speculator is not None
        and bool(c.spec.speculator.enable_b10_lookahead)
        and not uses_lookahead(c)
    ),
    message=lambda c: (
        "`enable_b10_lookahead` belongs to `LOOKAHEAD_DECODING`, and the mode is "
        f"`{c.spec.speculator.speculative_decoding_mode if c.spec.speculator else ''}`."
    ),
    fix=Fix(
        label="Change to lookahead decoding",
        patch=lambda _: {f"{SPECULATOR}.speculative_decoding_mode": "LOOKAHEAD_DECODING"},
        safe=False,
    ),
    source=sources.truss("trt_llm_config.py, speculator"),
    bad=draft_example({"enable_b10_lookahead": True}),
    good=draft_example(_WITH_B10),
)

WITHOUT_B10 = Rule(
    code="EH411",
    name="lookahead-without-b10",
    severity=Severity.HINT,
    fields=at(_B10),
    concerns=uses_lookahead,
    when=lambda c: not (c.spec.speculator and c.spec.speculator.enable_b10_lookahead),
    message=lambda _: (
        "`enable_b10_lookahead` is off, its default; the guide recommends it on for every "
        "configuration that it shows. It looks up to 10 million past tokens back."
    ),
    fix=Fix(label="Turn it on", patch=lambda _: {_B10: True}, safe=True),
    source=_GUIDE("Configuration parameters"),
    bad=draft_example(RECOMMENDED),
    good=draft_example(_WITH_B10),
)

STRUCTURED = Rule(
    code="EH412",
    name="structured-output-under-lookahead",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(SPECULATOR),
    when=uses_lookahead,
    message=lambda _: (
        "The guide says that lookahead refuses requests with `response_format` and turns sampling "
        "off. Here TensorRT-LLM drafts by n-grams, which by its own matrix work with guided "
        "decoding, as under vLLM: schemas and temperatures hold as without drafts."
    ),
    source=sources.tensorrt_llm("feature combination matrix"),
    bad=on_trtllm(draft_example(_WITH_B10)),
    good=on_trtllm(Example(config={_ACCELERATOR: "H100"}, checkpoint=LLAMA_8B)),
)

SAMPLED = Rule(
    code="EH413",
    name="sampled-model-under-lookahead",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(SPECULATOR),
    concerns=uses_lookahead,
    when=lambda c: (
        (c.checkpoint.default_temperature or 0) > 0 and c.engine.drafts_greedily(c.version)
    ),
    message=lambda c: (
        f"The checkpoint asks to be sampled at temperature {c.checkpoint.default_temperature:g}, "
        f"and TensorRT-LLM {c.version} drafts with a suffix automaton, under which it takes the "
        "most likely token: answers are the same each time."
    ),
    source=sources.tensorrt_llm("speculative_config, allow_advanced_sampling"),
    bad=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100", SPECULATOR: _WITH_B10},
            checkpoint=LLAMA_8B.model_copy(update={"default_temperature": 0.6}),
            versions=frozenset({("trtllm", "1.3.0")}),
        )
    ),
    good=on_trtllm(draft_example(_WITH_B10)),
)

UNLISTED_DEVICE = Rule(
    code="EH414",
    name="lookahead-on-a-gpu-not-listed",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=at(SPECULATOR, _ACCELERATOR),
    concerns=uses_lookahead,
    when=lambda c: (
        not c.gpu.is_cpu and c.gpu.kind not in _LISTED and not c.gpu.has_capability(*FP4_CAPABILITY)
    ),
    message=lambda c: (
        f"The guide lists lookahead for A10G, L4, A100, H100_40GB, H100 and H200, and "
        f"`{c.gpu.kind}` is not among them."
    ),
    source=_GUIDE("Limitations"),
    bad=on_trtllm(draft_example(_WITH_B10, **{_ACCELERATOR: "L40S"})),
    good=on_trtllm(draft_example(_WITH_B10)),
)

ON_ENCODER = Rule(
    code="EH415",
    name="lookahead-on-encoder",
    severity=Severity.ERROR,
    about_runtime=True,
    fields=at(SPECULATOR, _BASE),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=lambda c: c.spec.speculator is not None,
    message=lambda c: (
        f"`base_model: {c.spec.base_model}` generates no tokens, so there is nothing to draft; BEI "
        "and BEI-Bert have no lookahead."
    ),
    fix=Fix(label="Remove the speculator", patch=lambda _: {SPECULATOR: None}, safe=True),
    source=sources.engines_overview("Feature availability"),
    bad=draft_example(_WITH_B10, **{_BASE: "encoder"}),
    good=draft_example(_WITH_B10),
)

DRAFT_MODEL = Rule(
    code="EH416",
    name="draft-model-under-lookahead",
    severity=Severity.HINT,
    fields=lambda c: tuple(f"{SPECULATOR}.{name}" for name in _remnants(c)) or (SPECULATOR,),
    when=lambda c: bool(_remnants(c)),
    message=lambda c: (
        "Lookahead drafts from tokens seen before and needs no draft model; without effect: "
        + ", ".join(f"`{name}`" for name in _remnants(c))
        + "."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"{SPECULATOR}.{name}": None for name in _remnants(c)},
        safe=True,
    ),
    source=_GUIDE("Deprecation: DRAFT_TOKENS_EXTERNAL mode"),
    bad=draft_example({**_WITH_B10, "checkpoint_repository": {"source": "LOCAL", "repo": "/d"}}),
    good=draft_example(_WITH_B10),
)

PROMPT_TABLE = Rule(
    code="EH417",
    name="prompt-table-under-lookahead",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_TABLE_SIZE, SPECULATOR),
    concerns=uses_lookahead,
    when=lambda c: c.spec.engine_build.max_prompt_embedding_table_size > 0,
    message=lambda c: (
        "`max_prompt_embedding_table_size` is "
        f"{c.spec.engine_build.max_prompt_embedding_table_size}, and lookahead fails at run time "
        "beside a prompt table."
    ),
    fix=Fix(label="Do without the table", patch=lambda _: {_TABLE_SIZE: None}, safe=False),
    source=sources.tensorrt_llm("issue 6009, lookahead with a prompt table"),
    bad=on_trtllm(draft_example(_WITH_B10, **{_TABLE_SIZE: 1024})),
    good=on_trtllm(draft_example(_WITH_B10)),
)

LOGITS = Rule(
    code="EH419",
    name="context-logits-under-lookahead",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_LOGITS, SPECULATOR),
    concerns=uses_lookahead,
    when=lambda c: c.spec.engine_build.gather_all_token_logits,
    message=lambda _: "`gather_all_token_logits` and drafted tokens exclude each other.",
    fix=Fix(label="Do without the logits", patch=lambda _: {_LOGITS: None}, safe=False),
    source=sources.tensorrt_llm("context logits with a draft length"),
    bad=on_trtllm(draft_example(_WITH_B10, **{_LOGITS: True})),
    good=on_trtllm(draft_example(_WITH_B10)),
)

FULL_FRACTION = Rule(
    code="EH420",
    name="no-room-beside-drafts",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(_FRACTION),
    concerns=uses_lookahead,
    when=lambda c: _USUAL_FRACTION < c.spec.kv_cache_fraction <= 1,
    message=lambda c: (
        f"The KV cache takes {c.spec.kv_cache_fraction:g} of the free memory; drafts and their "
        "graphs need some of it, and the example of the docs takes 0.85."
    ),
    fix=Fix(label="Use 0.85", patch=lambda _: {_FRACTION: 0.85}, safe=True),
    source=_GUIDE("Engine optimization"),
    bad=on_trtllm(draft_example(_WITH_B10, **{_FRACTION: 0.95})),
    good=on_trtllm(draft_example(_WITH_B10, **{_FRACTION: 0.85})),
)

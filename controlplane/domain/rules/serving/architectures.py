"""EH66: classes that a build or its engine refuses, seen in config.json before a fetch."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.added_architectures import comes_later
from controlplane.domain.facts.architectures import TRANSPOSED_MODEL_TYPES, Role
from controlplane.domain.facts.known_architectures import is_known_generator
from controlplane.domain.facts.removed_architectures import given_up
from controlplane.domain.facts.rope import KINDS as ROPE_KINDS
from controlplane.domain.facts.transformers_classes import TRANSFORMERS_VERSION, has_class
from controlplane.domain.facts.unrun_architectures import runs_nowhere_in_vllm
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_vllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.quantization.precision import (
    QUANTIZATION,
    is_quantized,
    use_no_quant,
)
from controlplane.domain.rules.rule import NATIVE, VLLM, Fix, Rule, Severity, at, generates

_REPO = "trt_llm.build.checkpoint_repository.repo"
_L4 = {"resources.accelerator": "L4"}
_FP8 = {**_L4, QUANTIZATION: "fp8"}
_MIXTRAL = facts(
    architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=8,
    num_experts_per_tok=2,
)  # fmt: skip
_T5 = facts(
    architectures=["T5ForConditionalGeneration"], model_type="t5", is_encoder_decoder=True
)  # fmt: skip


def _is_transposed(c: Context) -> bool:
    return c.checkpoint.model_type in TRANSPOSED_MODEL_TYPES


def _has_two_halves(c: Context) -> bool:
    return c.checkpoint.is_encoder_decoder and generates(c)


NOT_NATIVE = Rule(
    code="EH660",
    name="architecture-that-native-does-not-serve",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=NATIVE,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=generates,
    when=lambda c: (
        c.checkpoint.architecture is not None
        and c.checkpoint.role in (Role.CAUSAL, Role.MULTIMODAL, Role.UNKNOWN)
        and is_known_generator(c.checkpoint.architecture)
        and not c.engine.generates(c.checkpoint.architecture)
    ),
    message=lambda c: (
        f"The native engine does not serve `{c.checkpoint.architecture}`. "
        f"{c.engine.generating_words} vLLM serves it on a GPU."
    ),
    source=sources.enginehouse("native engine, capabilities"),
    bad=Example(checkpoint=_MIXTRAL),
    good=Example(checkpoint=LLAMA_8B),
)

NOT_QUANTIZED = Rule(
    code="EH661",
    name="architecture-that-builds-do-not-quantize",
    severity=Severity.ERROR,
    about_runtime=True,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, _REPO),
    concerns=is_quantized,
    when=lambda c: _is_transposed(c) or _has_two_halves(c),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` keeps its matrices transposed (`Conv1D`), and what "
        "ModelOpt exports of them no engine can load."
        if _is_transposed(c)
        else f"`{c.checkpoint.architecture}` reads with an encoder and writes with a decoder; "
        "builds quantize models that are one of the two."
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.enginehouse("calibration, classes"),
    bad=Example(config=_FP8, checkpoint=_T5),
    good=Example(config=_FP8, checkpoint=LLAMA_8B),
)

NOT_IN_TRANSFORMERS = Rule(
    code="EH665",
    name="class-that-builds-cannot-load",
    severity=Severity.ERROR,
    about_runtime=True,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=is_quantized,
    when=lambda c: (
        c.checkpoint.architecture is not None
        and not has_class(c.checkpoint.architecture)
        and not c.checkpoint.remote_code
    ),
    message=lambda c: (
        f"Builds quantize with transformers, and {TRANSFORMERS_VERSION} has no class "
        f"`{c.checkpoint.architecture}`: the build would fail after it has fetched everything. "
        "Serve the weights unquantized with a runtime that has the class, or name a checkpoint "
        "that is quantized already."
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.enginehouse("calibration, classes"),
    bad=Example(
        config=_FP8, checkpoint=facts(architectures=["AquilaForCausalLM"], model_type="aquila")
    ),
    good=Example(config=_FP8, checkpoint=LLAMA_8B),
)

NO_CLASS = Rule(
    code="EH662",
    name="config-without-architectures",
    severity=Severity.ERROR,
    about_runtime=True,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        c.checkpoint.architecture is None
        and c.checkpoint.adapter is None
        and c.checkpoint.layers is not None
    ),
    message=lambda c: (
        "`config.json` names no class under `architectures`, and builds and engines choose the "
        "class by it"
        + (f"; its `model_type` is `{c.checkpoint.model_type}`" if c.checkpoint.model_type else "")
        + '. Add it, such as `"architectures": ["LlamaForCausalLM"]` for a Llama.'
    ),
    source=sources.enginehouse("native engine, checkpoints"),
    bad=Example(config=_L4, checkpoint=facts(architectures=None)),
    good=Example(config=_L4, checkpoint=LLAMA_8B),
)

GIVEN_UP = Rule(
    code="EH666",
    name="architecture-that-vllm-gave-up",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: given_up(c.checkpoint.architecture, c.version) is not None,
    message=lambda c: (
        f"`{c.checkpoint.architecture}` was in vLLM up to "
        f"{given_up(c.checkpoint.architecture, c.version)}, and later versions fail to start "
        f"with it; {c.version} is what runs here."
    ),
    otherwise=other_engines,
    source=sources.vllm("model_executor/models/registry.py", checked="2026-11-30"),
    bad=on_vllm(
        Example(config=_L4, checkpoint=facts(architectures=["MllamaForConditionalGeneration"]))
    ),
    good=on_vllm(Example(config=_L4, checkpoint=LLAMA_8B)),
)

NOT_YET = Rule(
    code="EH695",
    name="architecture-that-came-to-vllm-later",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        not c.checkpoint.remote_code
        and comes_later(c.checkpoint.architecture, c.version) is not None
    ),
    message=lambda c: (
        f"vLLM {c.version} has no class `{c.checkpoint.architecture}` yet and fails to start; "
        f"{comes_later(c.checkpoint.architecture, c.version)} has it."
    ),
    otherwise=other_engines,
    source=sources.vllm("model_executor/models/registry.py", checked="2026-11-30"),
    bad=on_vllm(Example(config=_L4, checkpoint=facts(architectures=["Step5ForCausalLM"]))),
    good=on_vllm(Example(config=_L4, checkpoint=facts(architectures=["Step3p5ForCausalLM"]))),
)

NOT_RUN = Rule(
    code="EH697",
    name="architecture-that-vllm-does-not-run",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: runs_nowhere_in_vllm(c.checkpoint.architecture, c.version),
    message=lambda c: (
        f"vLLM {c.version} has no class `{c.checkpoint.architecture}`, and does not run the one of "
        "transformers, whose attention cannot be replaced: it fails to start."
    ),
    otherwise=other_engines,
    source=sources.vllm("model_executor/models/registry.py", checked="2026-11-30"),
    bad=on_vllm(
        Example(config=_L4, checkpoint=facts(architectures=["XGLMForCausalLM"], model_type="xglm"))
    ),
    good=on_vllm(Example(config=_L4, checkpoint=facts(architectures=["OPTForCausalLM"]))),
)

UNKNOWN_POSITIONS = Rule(
    code="EH668",
    name="positions-of-an-unknown-kind",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.rope_type is not None and c.checkpoint.rope_type not in ROPE_KINDS,
    message=lambda c: (
        f"`config.json` stretches positions by `{c.checkpoint.rope_type}`, which vLLM does not "
        "know: it fails to start. Known are linear, dynamic, yarn, longrope and llama3; repair "
        "`rope_scaling` (or `rope_parameters`), or override it."
    ),
    source=sources.vllm(
        "model_executor/layers/rotary_embedding/__init__.py, get_rope", checked="2026-11-30"
    ),
    bad=on_vllm(
        Example(config=_L4, checkpoint=facts(rope_scaling={"rope_type": "weird", "factor": 2.0}))
    ),
    good=on_vllm(
        Example(config=_L4, checkpoint=facts(rope_scaling={"rope_type": "yarn", "factor": 2.0}))
    ),
)

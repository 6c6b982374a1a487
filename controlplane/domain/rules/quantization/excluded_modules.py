"""EH2: layers that the config keeps in 16 bits."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.matrices import (
    MatrixKind,
    nearest,
    of_all_experts,
    single_experts,
    torn_apart,
    unmatched,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.rules.quantization.precision import is_quantized
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity, at

_EXCLUDED = "trt_llm.build.quantization_config.exclude_modules"
_QUANTIZATION = "trt_llm.build.quantization_type"
_SHOWN = 3
_LAYERS = ((0, 31),)
_HIDDEN, _INTERMEDIATE, _KEYS = 4096, 14_336, 1024
LLAMA_WITH_MATRICES = LLAMA_8B.model_copy(
    update={
        "matrices": tuple(
            MatrixKind(name=f"model.layers.{{}}.{name}", layers=_LAYERS, parameters=size)
            for name, size in (
                ("self_attn.q_proj", _HIDDEN * _HIDDEN),
                ("self_attn.k_proj", _HIDDEN * _KEYS),
                ("self_attn.v_proj", _HIDDEN * _KEYS),
                ("self_attn.o_proj", _HIDDEN * _HIDDEN),
                ("mlp.gate_proj", _HIDDEN * _INTERMEDIATE),
                ("mlp.up_proj", _HIDDEN * _INTERMEDIATE),
                ("mlp.down_proj", _HIDDEN * _INTERMEDIATE),
            )
        )
    }
)
EXPERTS = LLAMA_8B.model_copy(
    update={
        "experts": 8,
        "matrices": tuple(
            MatrixKind(
                name=f"model.layers.{{}}.mlp.experts.*.{name}", layers=_LAYERS, parameters=size
            )
            for name, size in (
                ("gate_proj", _HIDDEN * _HIDDEN),
                ("up_proj", _HIDDEN * _HIDDEN),
                ("down_proj", _HIDDEN * _HIDDEN),
            )
        ),
    }
)
_FP8 = {"resources.accelerator": "H100", _QUANTIZATION: "fp8"}


def _patterns(c: Context) -> list[str]:
    return list(c.spec.engine_build.quantization_config.exclude_modules)


def _asks(c: Context) -> bool:
    return is_quantized(c) and bool(_patterns(c))


def _unknown(c: Context) -> list[str]:
    return unmatched(c.checkpoint.matrices, _patterns(c)) if c.checkpoint.matrices else []


def _unknown_words(c: Context) -> str:
    sentences = []
    for pattern in _unknown(c)[:_SHOWN]:
        meant = nearest(pattern, c.checkpoint.matrices)
        sentences.append(f"`{pattern}`" + (f" (did you mean `{meant}`?)" if meant else ""))
    return ", ".join(sentences)


def _as_meant(c: Context) -> Patch:
    unknown = set(_unknown(c))
    named = [
        nearest(each, c.checkpoint.matrices) if each in unknown else each for each in _patterns(c)
    ]
    return {_EXCLUDED: [each for each in dict.fromkeys(named) if each] or None}


def _torn(c: Context) -> list[tuple[str, list[str]]]:
    return torn_apart(c.checkpoint.matrices, _patterns(c))


def _with_those_beside(c: Context) -> Patch:
    """Return the patch that keeps all of what engines compute as one in 16 bits."""
    added = [name for _, left in _torn(c) for name in left]
    folded = {f"*.{name.rpartition('.')[2]}" for name in added}
    whole = any(each.startswith("*") for each in _patterns(c))
    return {_EXCLUDED: [*_patterns(c), *(sorted(folded) if whole else dict.fromkeys(added))]}


UNKNOWN_MODULE = Rule(
    code="EH242",
    name="excluded-modules-that-are-not-there",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_EXCLUDED),
    concerns=_asks,
    when=lambda c: bool(_unknown(c)),
    message=lambda c: (
        f"`exclude_modules` names what the checkpoint does not have: {_unknown_words(c)}."
    ),
    fix=Fix(label="Use the nearest names", patch=_as_meant, safe=False),
    source=sources.enginehouse("quantization, excluded modules"),
    bad=Example(config={**_FP8, _EXCLUDED: ["*.donw_proj"]}, checkpoint=LLAMA_WITH_MATRICES),
    good=Example(config={**_FP8, _EXCLUDED: ["*.down_proj"]}, checkpoint=LLAMA_WITH_MATRICES),
)

TORN_APART = Rule(
    code="EH243",
    name="excluded-modules-without-those-beside-them",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_EXCLUDED),
    concerns=_asks,
    when=lambda c: bool(_torn(c)),
    message=lambda c: (
        f"`{_torn(c)[0][0]}` is to stay in 16 bits and `{_torn(c)[0][1][0]}` is not; "
        f"{c.engine.title} computes them as one matrix and refuses such a checkpoint."
    ),
    fix=Fix(label="Exclude them together", patch=_with_those_beside, safe=False),
    source=sources.vllm("model_executor/layers/quantization/utils/quant_utils.py"),
    bad=Example(config={**_FP8, _EXCLUDED: ["*.up_proj"]}, checkpoint=LLAMA_WITH_MATRICES),
    good=Example(
        config={**_FP8, _EXCLUDED: ["*.up_proj", "*.gate_proj"]}, checkpoint=LLAMA_WITH_MATRICES
    ),
)


def _with_all_experts(c: Context) -> Patch:
    return {_EXCLUDED: list(dict.fromkeys(of_all_experts(each) for each in _patterns(c)))}


ONE_EXPERT = Rule(
    code="EH253",
    name="excluded-experts-by-their-number",
    severity=Severity.ERROR,
    fields=at(_EXCLUDED),
    concerns=_asks,
    when=lambda c: bool(single_experts(_patterns(c))),
    message=lambda c: (
        f"`{single_experts(_patterns(c))[0]}` names one expert of a layer, and all experts of a "
        "layer are computed as one matrix, in one precision: "
        f"`{of_all_experts(single_experts(_patterns(c))[0])}` names them all."
    ),
    fix=Fix(label="Name all experts of the layer", patch=_with_all_experts, safe=False),
    source=sources.vllm("model_executor/layers/fused_moe", checked="2026-11-30"),
    bad=Example(config={**_FP8, _EXCLUDED: ["model.layers.0.mlp.experts.7.*"]}, checkpoint=EXPERTS),
    good=Example(config={**_FP8, _EXCLUDED: ["model.layers.0.mlp.experts"]}, checkpoint=EXPERTS),
)

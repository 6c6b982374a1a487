"""EH2: precision, hardware that has it, and models that survive it."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import GEMMA_MODEL_TYPES, GEMMA_SOURCE
from controlplane.domain.facts.quantization import (
    FP4_CAPABILITY,
    FP8_CAPABILITY,
    KV_SENSITIVE_MODEL_TYPES,
    QWEN2_CALIBRATION_SAMPLES,
    SMALL_MODEL_PARAMETERS,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, QWEN2_7B, Example, facts
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    NATIVE,
    TRTLLM,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
)
from controlplane.domain.spec.choices import BaseModelKind, QuantizationType

QUANTIZATION = "trt_llm.build.quantization_type"
_SAMPLES = "trt_llm.build.quantization_config.calib_size"
_ACCELERATOR = "resources.accelerator"
_WITHOUT_KV = {"fp8_kv": "fp8", "fp4_kv": "fp4"}
_EIGHT_BIT = {"fp4": "fp8", "fp4_kv": "fp8_kv", "fp4_mlp_only": "fp8_mlp_only"}
_PREQUANTIZED = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})


def _lacks(c: Context, capability: tuple[int, int]) -> bool:
    return c.gpu.compute_capability is not None and not c.gpu.has_capability(*capability)


def _quantized(c: Context) -> bool:
    return not c.spec.quantization_type.is_none


def _use_no_quant(_: Context) -> Patch:
    return {QUANTIZATION: "no_quant"}


def _next_lower_precision(c: Context) -> Patch:
    offers_fp8 = c.gpu.has_capability(*FP8_CAPABILITY)
    lower = _EIGHT_BIT[c.spec.quantization_type.value]
    return {QUANTIZATION: lower if offers_fp8 else "no_quant"}


FP8_ON_OLD_GPU = Rule(
    code="EH201",
    name="fp8-on-gpu-without-fp8",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: c.spec.quantization_type.is_fp8 and _lacks(c, FP8_CAPABILITY),
    message=lambda c: (
        f"`{c.spec.quantization_type}` needs compute capability 8.9 or newer (L4, L40S, H100, "
        f"H200, B200), and `{c.gpu.kind}` has {c.gpu.capability_text}."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=sources.quantization_guide("GPU support"),
    bad=Example(config={_ACCELERATOR: "A100", QUANTIZATION: "fp8_kv"}),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}),
)

FP4_BELOW_BLACKWELL = Rule(
    code="EH202",
    name="fp4-below-blackwell",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: c.spec.quantization_type.is_fp4 and _lacks(c, FP4_CAPABILITY),
    message=lambda c: (
        f"`{c.spec.quantization_type}` needs a Blackwell card (B200, B300, GB300, RTX_PRO_6000), "
        f"and `{c.gpu.kind}` has compute capability {c.gpu.capability_text}."
    ),
    fix=Fix(
        label="Use the next precision that this card has", patch=_next_lower_precision, safe=False
    ),
    source=sources.quantization_guide("GPU support"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp4_kv"}),
    good=Example(config={_ACCELERATOR: "B200", QUANTIZATION: "fp4_kv"}),
)

REQUANTIZED = Rule(
    code="EH203",
    name="quantized-checkpoint-quantized-again",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, "trt_llm.build.checkpoint_repository.repo"),
    concerns=_quantized,
    when=lambda c: c.checkpoint.existing_quantization is not None,
    message=lambda c: (
        f"The checkpoint is already quantized ({_method(c)}) and cannot be quantized to "
        f"`{c.spec.quantization_type}` again."
    ),
    fix=Fix(label="Serve it as it is", patch=_use_no_quant, safe=False),
    source=sources.quantization_guide("Pre-quantized checkpoints"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=_PREQUANTIZED),
    good=Example(config={_ACCELERATOR: "H100"}, checkpoint=_PREQUANTIZED),
)


def _method(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    if existing is None:
        return ""
    return f"{existing.method} {existing.algorithm}" if existing.algorithm else existing.method


QWEN2_KV = Rule(
    code="EH204",
    name="eight-bit-kv-cache-on-qwen2",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=lambda c: c.spec.quantization_type.quantizes_kv_cache,
    when=lambda c: c.checkpoint.model_type in KV_SENSITIVE_MODEL_TYPES,
    message=lambda c: (
        f"`{c.checkpoint.model_type}` keeps a bias on its query, key and value projections, which "
        f"the 8-bit KV cache of `{c.spec.quantization_type}` does not survive: answers may turn "
        "repetitive or meaningless. The quantization guide forbids the pair; the configuration "
        "page shows it in an example."
    ),
    fix=Fix(
        label="Keep the KV cache in 16 bits",
        patch=lambda c: {QUANTIZATION: _WITHOUT_KV.get(c.spec.quantization_type.value, "no_quant")},
        safe=False,
    ),
    source=sources.quantization_guide("Qwen2 models"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}, checkpoint=QWEN2_7B),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=QWEN2_7B),
)

QWEN2_CALIBRATION = Rule(
    code="EH205",
    name="few-calibration-samples-on-qwen2",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(_SAMPLES),
    concerns=lambda c: (
        _quantized(c)
        and c.spec.engine_build.quantization_config.calib_size < QWEN2_CALIBRATION_SAMPLES
    ),
    when=lambda c: c.checkpoint.model_type in KV_SENSITIVE_MODEL_TYPES,
    message=lambda c: (
        f"`calib_size` is {c.spec.engine_build.quantization_config.calib_size}; the Qwen2 family "
        f"keeps more of its accuracy with {QWEN2_CALIBRATION_SAMPLES} samples or more."
    ),
    fix=Fix(
        label=f"Calibrate on {QWEN2_CALIBRATION_SAMPLES} samples",
        patch=lambda _: {_SAMPLES: QWEN2_CALIBRATION_SAMPLES},
        safe=False,
    ),
    source=sources.quantization_guide("Qwen2 models"),
    bad=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: "fp8", _SAMPLES: 512}, checkpoint=QWEN2_7B
    ),
    good=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: "fp8", _SAMPLES: 1024}, checkpoint=QWEN2_7B
    ),
)

SMALL_MODEL = Rule(
    code="EH206",
    name="quantized-small-model",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=_quantized,
    when=lambda c: 0 < (c.checkpoint.parameters or 0) < SMALL_MODEL_PARAMETERS,
    message=lambda c: (
        f"A model of {(c.checkpoint.parameters or 0) / 1e9:.1f} B parameters gains little from "
        f"`{c.spec.quantization_type}`; the guide sees minimal benefit below 8 B."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=sources.quantization_guide("When to avoid quantization"),
    bad=Example(config={_ACCELERATOR: "L4", QUANTIZATION: "fp8"}),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B),
)

QUANTIZED_BERT = Rule(
    code="EH207",
    name="quantized-bert-encoder",
    severity=Severity.ERROR,
    fields=at(QUANTIZATION, "trt_llm.build.base_model"),
    when=lambda c: c.spec.base_model is BaseModelKind.ENCODER_BERT and _quantized(c),
    message=lambda c: (
        f"`encoder_bert` runs in 16 bits only; `{c.spec.quantization_type}` is not built for it. "
        "The engine table names KV types for it and its own page none."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=sources.engines_overview("Feature availability"),
    bad=Example(
        config={
            "trt_llm.build.base_model": "encoder_bert",
            _ACCELERATOR: "L4",
            QUANTIZATION: "fp8",
        },
        checkpoint=BERT,
    ),
    good=Example(
        config={"trt_llm.build.base_model": "encoder_bert", _ACCELERATOR: "L4"}, checkpoint=BERT
    ),
)

KV_ON_ENCODER = Rule(
    code="EH208",
    name="kv-cache-precision-on-encoder",
    severity=Severity.WARNING,
    fields=at(QUANTIZATION),
    when=lambda c: (
        c.spec.base_model is BaseModelKind.ENCODER and c.spec.quantization_type.quantizes_kv_cache
    ),
    message=lambda c: (
        f"An encoder keeps no KV cache between requests, so `{c.spec.quantization_type}` only adds "
        "risk. The guide says both that BEI supports it in part and that it does not."
    ),
    fix=Fix(
        label="Quantize weights only",
        patch=lambda c: {QUANTIZATION: _WITHOUT_KV.get(c.spec.quantization_type.value, "no_quant")},
        safe=False,
    ),
    source=sources.quantization_guide("BEI models"),
    bad=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4", QUANTIZATION: "fp8_kv"},
        checkpoint=BERT,
    ),
    good=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4", QUANTIZATION: "fp8"},
        checkpoint=BERT,
    ),
)

EMULATED_ON_CPU = Rule(
    code="EH209",
    name="eight-bit-weights-on-cpu",
    severity=Severity.WARNING,
    runtimes=NATIVE,
    fields=at(QUANTIZATION, _ACCELERATOR),
    concerns=lambda c: c.gpu.is_cpu,
    when=lambda c: c.spec.quantization_type.is_fp8,
    message=lambda c: (
        f"No accelerator is named, and a CPU has no FP8: `{c.spec.quantization_type}` is emulated "
        "in float32, which shows its accuracy but saves neither time nor memory."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=sources.enginehouse("native engine, capabilities"),
    bad=Example(config={QUANTIZATION: "fp8"}),
    good=Example(),
)

FP4_ON_CPU = Rule(
    code="EH210",
    name="four-bit-weights-on-cpu",
    severity=Severity.ERROR,
    runtimes=NATIVE,
    fields=at(QUANTIZATION, _ACCELERATOR),
    concerns=lambda c: c.gpu.is_cpu,
    when=lambda c: c.spec.quantization_type.is_fp4,
    message=lambda c: (
        f"No accelerator is named, and the native engine does not read `{c.spec.quantization_type}`"
        " on a CPU."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=sources.enginehouse("native engine, capabilities"),
    bad=Example(config={QUANTIZATION: "fp4"}),
    good=Example(config={QUANTIZATION: "fp4", _ACCELERATOR: "B200"}),
)

GEMMA_ON_V1 = Rule(
    code="EH211",
    name="quantized-gemma-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=lambda c: _quantized(c) and not c.spec.is_v2 and not c.spec.base_model.is_encoder,
    when=lambda c: c.checkpoint.model_type in GEMMA_MODEL_TYPES,
    message=lambda c: (
        f"The v1 stack serves Gemma in bfloat16 only; `{c.spec.quantization_type}` is likely to "
        "fail or to harm its answers."
    ),
    fix=Fix(label="Use no_quant", patch=_use_no_quant, safe=False),
    source=GEMMA_SOURCE,
    bad=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"},
        checkpoint=facts(model_type="gemma2", architectures=["Gemma2ForCausalLM"]),
    ),
    good=Example(
        config={_ACCELERATOR: "H100"},
        checkpoint=facts(model_type="gemma2", architectures=["Gemma2ForCausalLM"]),
    ),
)

LEGACY_TYPE = Rule(
    code="EH212",
    name="integer-quantization",
    severity=Severity.ERROR,
    fields=at(QUANTIZATION),
    when=lambda c: c.spec.quantization_type.is_legacy,
    message=lambda c: (
        f"`{c.spec.quantization_type}` is not built any more. The guide lists it for v1; the "
        "hosted server refuses it, and the parser of both accepts it."
    ),
    fix=Fix(
        label="Use what this card has instead",
        patch=lambda c: {
            QUANTIZATION: "fp8" if c.gpu.has_capability(*FP8_CAPABILITY) else "no_quant"
        },
        safe=False,
    ),
    source=sources.truss("trt_llm_config.py, quantization types"),
    bad=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: QuantizationType.WEIGHTS_INT8.value},
        checkpoint=LLAMA_8B,
    ),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B),
)

RULES = (
    FP8_ON_OLD_GPU,
    FP4_BELOW_BLACKWELL,
    REQUANTIZED,
    QWEN2_KV,
    QWEN2_CALIBRATION,
    SMALL_MODEL,
    QUANTIZED_BERT,
    KV_ON_ENCODER,
    EMULATED_ON_CPU,
    FP4_ON_CPU,
    GEMMA_ON_V1,
    LEGACY_TYPE,
)

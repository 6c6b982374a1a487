"""EH2: models that quantization does not suit."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization_of_models import (
    KV_SENSITIVE_MODEL_TYPES,
    QWEN2_CALIBRATION_SAMPLES,
    SMALL_MODEL_PARAMETERS,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, QWEN2_7B, Example, facts, on_trtllm
from controlplane.domain.rules.quantization.calibration_data import (
    samples_words,
    without_own_samples,
)
from controlplane.domain.rules.quantization.precision import (
    QUANTIZATION,
    is_quantized,
    quantizes_all_to_four_bits,
    use_no_quant,
)
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import (
    kv_cache_fields,
    kv_cache_type,
    quantizes_kv_cache,
    without_quantized_kv,
)
from controlplane.domain.spec.choices import BaseModelKind

_SAMPLES = "trt_llm.build.quantization_config.calib_size"
_ACCELERATOR = "resources.accelerator"


def _asks_by(c: Context) -> str:
    by_type = c.spec.quantization_type.quantizes_kv_cache
    return (
        c.spec.quantization_type.value if by_type else f"kv_cache_config.dtype: {kv_cache_type(c)}"
    )


QWEN2_KV = Rule(
    code="EH204",
    name="eight-bit-kv-cache-on-qwen2",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=kv_cache_fields,
    may_mark=("trt_llm.runtime.patch_kwargs.kv_cache_config.dtype",),
    concerns=quantizes_kv_cache,
    when=lambda c: c.checkpoint.model_type in KV_SENSITIVE_MODEL_TYPES,
    message=lambda c: (
        f"`{c.checkpoint.model_type}` keeps a bias on its query, key and value projections, which "
        f"the 8-bit KV cache of `{_asks_by(c)}` does not survive: answers may turn "
        "repetitive or meaningless. The quantization guide forbids the pair; the configuration "
        "page shows it in an example."
    ),
    fix=Fix(
        label="Keep the KV cache in 16 bits",
        patch=without_quantized_kv,
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
    fields=lambda c: (c.spec.calibration_samples_path,),
    concerns=lambda c: is_quantized(c) and c.spec.calibration_samples < QWEN2_CALIBRATION_SAMPLES,
    when=lambda c: c.checkpoint.model_type in KV_SENSITIVE_MODEL_TYPES,
    message=lambda c: (
        f"{samples_words(c)}; the Qwen2 family keeps more of its accuracy with "
        f"{QWEN2_CALIBRATION_SAMPLES} samples or more."
    ),
    fix=Fix(
        label=f"Calibrate on {QWEN2_CALIBRATION_SAMPLES} samples",
        patch=lambda c: {**without_own_samples(c), _SAMPLES: QWEN2_CALIBRATION_SAMPLES},
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
    # What four bits cost a small model is said by EH214 and, of an encoder, by EH222.
    concerns=lambda c: is_quantized(c) and not quantizes_all_to_four_bits(c),
    when=lambda c: 0 < (c.checkpoint.parameters or 0) < SMALL_MODEL_PARAMETERS,
    message=lambda c: (
        f"A model of {(c.checkpoint.parameters or 0) / 1e9:.1f} B parameters gains little from "
        f"`{c.spec.quantization_type}`; the guide sees minimal benefit below 8 B, while the "
        "engine's page quantizes a 3 B model on an L4 to save memory."
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.quantization_guide("When to avoid quantization"),
    bad=Example(config={_ACCELERATOR: "L4", QUANTIZATION: "fp8"}),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B),
)


QUANTIZED_BERT = Rule(
    code="EH207",
    name="quantized-bert-encoder",
    severity=Severity.ERROR,
    fields=at(QUANTIZATION, "trt_llm.build.base_model"),
    when=lambda c: c.spec.base_model is BaseModelKind.ENCODER_BERT and is_quantized(c),
    message=lambda c: (
        f"`encoder_bert` runs in 16 bits only; `{c.spec.quantization_type}` is not built for it. "
        "The engine table names KV types for it and its own page none."
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
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
        patch=lambda c: {QUANTIZATION: c.spec.quantization_type.precision.with_plain_kv},
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


def _weights_that_it_takes_not(c: Context) -> str:
    """Return the number in which the engine takes no weights of this family; empty else."""
    label = c.spec.quantization_type.precision.weights.label
    families = c.memory.precisions.unquantized.get(label, frozenset())
    return label if c.checkpoint.model_type in families else ""


UNLISTED_FAMILY = Rule(
    code="EH211",
    name="quantized-gemma-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=lambda c: is_quantized(c) and not c.spec.base_model.is_encoder,
    when=lambda c: bool(_weights_that_it_takes_not(c)),
    message=lambda c: (
        f"TensorRT-LLM does not list `{c.checkpoint.model_type}` in "
        f"{_weights_that_it_takes_not(c)}, of Gemma only Gemma 3 in FP8: "
        f"`{c.spec.quantization_type}` is likely to fail or to harm its answers."
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.tensorrt_llm("quantization, matrix of models and formats 1.2.1"),
    bad=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"},
            checkpoint=facts(model_type="gemma2", architectures=["Gemma2ForCausalLM"]),
        )
    ),
    good=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"},
            checkpoint=facts(model_type="gemma3_text", architectures=["Gemma3ForCausalLM"]),
        )
    ),
)

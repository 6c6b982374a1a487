"""EH8: whether vLLM reads the way in which a checkpoint was quantized."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_quantization import is_deprecated, lacks_method, odd_bits
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, facts
from controlplane.domain.rules.named_arguments import named_arguments
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity, at

_REPO = "trt_llm.build.checkpoint_repository.repo"
_METHODS = sources.vllm(
    "model_executor/layers/quantization/__init__.py, QuantizationMethods", checked="2026-11-30"
)
_CONSENT = "allow-deprecated-quantization"
_L40S = {"resources.accelerator": "L40S", "enginehouse.runtime": "vllm"}
_INSTEAD = "Name the original weights, or a copy in FP8, NVFP4 or INT4 with symmetric groups."


def _quantized(**block: object) -> Example:
    return Example(config=_L40S, checkpoint=facts(quantization_config=block))


def _method(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    return existing.method if existing else ""


def _odd_bits(c: Context) -> str | None:
    existing = c.checkpoint.existing_quantization
    return odd_bits(existing) if existing else None


NO_METHOD = Rule(
    code="EH833",
    name="quantization-method-that-vllm-has-not",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        (existing := c.checkpoint.existing_quantization) is not None
        and lacks_method(existing, c.version)
    ),
    message=lambda c: (
        f"The checkpoint is quantized with `{_method(c)}`, "
        f"which vLLM {c.version} has no method for: it fails to start. {_INSTEAD}"
    ),
    source=_METHODS,
    bad=_quantized(quant_method="exl2", bits=4),
    good=_quantized(quant_method="auto-round", bits=4, group_size=128, sym=True),
)

UNNAMED_METHOD = Rule(
    code="EH835",
    name="quantization-that-names-no-method",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        (existing := c.checkpoint.existing_quantization) is not None and existing.is_guessed
    ),
    message=lambda c: (
        "`quantization_config` in `config.json` has no `quant_method`. Its settings are those of "
        f"`{_method(c)}`, but vLLM goes by the name alone: it takes the weights for unquantized "
        f"ones, and they do not fit. Save it again with its method named. {_INSTEAD}"
    ),
    source=_METHODS,
    bad=_quantized(load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    good=_quantized(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4"),
)

DEPRECATED_METHOD = Rule(
    code="EH836",
    name="quantization-method-that-vllm-deprecates",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        (existing := c.checkpoint.existing_quantization) is not None
        and is_deprecated(existing)
        and _CONSENT not in named_arguments(c)
    ),
    message=lambda c: (
        f"The checkpoint is quantized with `{_method(c)}`, which vLLM {c.version} loads only when "
        "`allow-deprecated-quantization` is set: a later version will not load it at all."
    ),
    fix=Fix(
        label="Allow the deprecated method",
        patch=lambda c: {f"{c.spec.settings_path}.vllm_args.{_CONSENT}": True},
        safe=True,
    ),
    source=_METHODS,
    bad=_quantized(quant_method="fbgemm_fp8"),
    good=_quantized(quant_method="fp8"),
)

ODD_BITS = Rule(
    code="EH834",
    name="integers-that-vllm-does-not-read",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: _odd_bits(c) is not None,
    message=lambda c: f"The checkpoint {_odd_bits(c)}. {_INSTEAD}",
    source=sources.vllm(
        "model_executor/layers/quantization/auto_gptq.py and auto_awq.py, TYPE_MAP",
        checked="2026-11-30",
    ),
    bad=_quantized(quant_method="gptq", bits=3, group_size=128, sym=True),
    good=_quantized(quant_method="gptq", bits=8, group_size=128, sym=True),
)

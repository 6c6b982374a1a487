"""EH8: whether vLLM reads the way in which a checkpoint was quantized."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_quantization import lacks_method, odd_bits
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, facts
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at

_REPO = "trt_llm.build.checkpoint_repository.repo"
_L40S = {"resources.accelerator": "L40S", "enginehouse.runtime": "vllm"}
_INSTEAD = "Name the original weights, or a copy in FP8, NVFP4 or INT4 with symmetric groups."


def _quantized(**block: object) -> Example:
    return Example(config=_L40S, checkpoint=facts(quantization_config=block))


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
        "The checkpoint is quantized with "
        f"`{c.checkpoint.existing_quantization and c.checkpoint.existing_quantization.method}`, "
        f"which vLLM {c.version} has no method for: it ends at its start. {_INSTEAD}"
    ),
    source=sources.vllm(
        "model_executor/layers/quantization/__init__.py, QuantizationMethods", checked="2026-11-30"
    ),
    bad=_quantized(quant_method="exl2", bits=4),
    good=_quantized(quant_method="gptq", bits=4, group_size=128, sym=True),
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

RULES = (NO_METHOD, ODD_BITS)

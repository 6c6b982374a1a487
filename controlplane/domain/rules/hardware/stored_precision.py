"""EH1: checkpoints in a precision that vLLM has no kernel for on the GPU."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Config, Example, facts
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at
from controlplane.domain.runtimes.capability import Feature

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_MXFP4_CAPABILITY = (8, 0)
_T4: Config = {_ACCELERATOR: "T4", "enginehouse.runtime": "vllm"}
_FP8 = facts(
    quantization_config={
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
    }
)


def _why(c: Context) -> str:
    """Return why vLLM cannot load the weights on this GPU; empty where it can."""
    existing = c.checkpoint.existing_quantization
    if existing is None or not (existing.is_fp4 or existing.is_fp8):
        return ""
    if existing.method.lower() == "mxfp4" and not c.gpu.has_capability(*_MXFP4_CAPABILITY):
        return "MXFP4 weights need compute capability 8.0"
    feature = Feature.FP4_WEIGHTS if existing.is_fp4 else Feature.FP8_WEIGHTS
    found = c.engine.capabilities.capability(feature, c.gpu.kind)
    return found.how if found.is_refused else ""


LACKS_PRECISION = Rule(
    code="EH116",
    name="stored-precision-that-the-gpu-lacks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, _REPO),
    concerns=lambda c: c.gpu.has_capability(7, 5),
    when=lambda c: bool(_why(c)),
    message=lambda c: (
        f"vLLM cannot load this checkpoint on `{c.gpu.kind}`, which has compute capability "
        f"{c.gpu.capability_text}: {_why(c)}."
    ),
    source=sources.vllm("get_min_capability of the quantization methods"),
    bad=Example(config=_T4, checkpoint=_FP8),
    good=Example(config={**_T4, _ACCELERATOR: "L4"}, checkpoint=_FP8),
)

RULES = (LACKS_PRECISION,)

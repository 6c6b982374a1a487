"""EH1: checkpoints in a precision that vLLM has no kernel for on the GPU."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.precision_support import stored_refusal
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Config, Example, facts
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_T4: Config = {_ACCELERATOR: "T4", "enginehouse.runtime": "vllm"}
_FP8 = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})


def _why(c: Context) -> str:
    """Return why vLLM cannot load the weights on this GPU; empty where it can."""
    return stored_refusal(c.checkpoint, c.gpu, c.memory.precisions) or ""


LACKS_PRECISION = Rule(
    code="EH116",
    name="stored-precision-that-the-gpu-lacks",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, _REPO),
    concerns=lambda c: c.gpu.has_capability(7, 5),
    when=lambda c: bool(_why(c)),
    message=lambda c: (
        f"{c.engine.title} {c.version} cannot load the checkpoint's weights on `{c.gpu.kind}`: "
        f"{_why(c)}."
    ),
    otherwise=other_engines,
    source=sources.vllm("get_min_capability of the quantization methods"),
    bad=Example(config=_T4, checkpoint=_FP8),
    good=Example(config={**_T4, _ACCELERATOR: "L4"}, checkpoint=_FP8),
)

"""EH3: whether vLLM divides a model's class into pipeline stages at all."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_class_limits import WITHOUT_STAGES
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity, at

_TENSOR = "trt_llm.build.tensor_parallel_count"
_PIPELINE = "trt_llm.build.pipeline_parallel_count"
_TWO_STAGES: Config = {
    "resources.accelerator": "L40S:2",
    _PIPELINE: 2,
    "enginehouse.runtime": "vllm",
}


def _ranks_instead(c: Context) -> Patch | None:
    if c.spec.is_v2:
        return None
    return {_PIPELINE: None, _TENSOR: c.spec.tensor_parallel * c.spec.pipeline_parallel}


NO_STAGES = Rule(
    code="EH333",
    name="stages-of-a-class-without-them",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_PIPELINE, "resources.accelerator"),
    concerns=lambda c: c.spec.pipeline_parallel > 1,
    when=lambda c: (c.checkpoint.architecture or "") in WITHOUT_STAGES,
    message=lambda c: (
        f"vLLM does not divide `{c.checkpoint.architecture}` into pipeline stages, and "
        f"`pipeline_parallel_count` is {c.spec.pipeline_parallel}: it fails to start. Use "
        "tensor parallelism, or one GPU."
    ),
    fix=Fix(label="Use tensor parallelism instead", patch=_ranks_instead, safe=True),
    source=sources.vllm("model_executor/models/interfaces.py, SupportsPP", checked="2026-11-30"),
    bad=Example(
        config=_TWO_STAGES,
        checkpoint=facts(architectures=["Gemma3nForCausalLM"], model_type="gemma3n"),
    ),
    good=Example(config=_TWO_STAGES, checkpoint=LLAMA_8B),
)

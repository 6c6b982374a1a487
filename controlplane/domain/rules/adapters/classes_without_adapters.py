"""EH7: whether vLLM serves adapters on a model's class at all."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_class_limits import serves_adapters
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at

_ADAPTERS = "trt_llm.build.lora_adapters"
_LEGAL: Config = {
    "resources.accelerator": "L40S",
    "enginehouse.runtime": "vllm",
    _ADAPTERS: {"legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}},
}

NO_ADAPTERS = Rule(
    code="EH718",
    name="adapters-on-a-class-without-them",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ADAPTERS, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: bool(c.spec.engine_build.lora_adapters),
    when=lambda c: (
        c.checkpoint.architecture is not None
        and not serves_adapters(c.checkpoint.architecture, c.version)
    ),
    message=lambda c: (
        f"vLLM {c.version} serves no adapters on `{c.checkpoint.architecture}`: it ends at its "
        "start. Merge the adapter into the weights, and serve those."
    ),
    source=sources.vllm("model_executor/models/interfaces.py, SupportsLoRA", checked="2026-11-30"),
    bad=Example(
        config=_LEGAL, checkpoint=facts(architectures=["FalconForCausalLM"], model_type="falcon")
    ),
    good=Example(config=_LEGAL, checkpoint=LLAMA_8B),
)

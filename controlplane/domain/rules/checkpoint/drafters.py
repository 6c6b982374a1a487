"""EH839: a checkpoint that drafts for another model."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.drafter_classes import DRAFTERS
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_vllm
from controlplane.domain.rules.rule import Rule, Severity, at

_REPO = "trt_llm.build.checkpoint_repository.repo"
_L4: Config = {"resources.accelerator": "L4"}

DRAFTER = Rule(
    code="EH839",
    name="drafter-as-the-model",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.architecture in DRAFTERS,
    message=lambda c: (
        f"`{c.checkpoint.architecture}` drafts for another model and answers nothing by itself. "
        "Name that model here; a v2 config has its drafter under `speculative_config`."
    ),
    source=sources.vllm("model_executor/models/registry.py", checked="2026-11-30"),
    bad=on_vllm(Example(config=_L4, checkpoint=facts(architectures=["LlamaForCausalLMEagle3"]))),
    good=on_vllm(Example(config=_L4, checkpoint=LLAMA_8B)),
)

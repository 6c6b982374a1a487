"""EH458 and EH459: classes of TensorRT-LLM that take no drafter, by its source and its matrix."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.trtllm_drafts import (
    INSIDE_THE_ENGINE,
    WITHOUT_DRAFTER,
    is_not_listed,
)
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, v2_example
from controlplane.domain.rules.speculation.v2_drafts import kind

_SPECULATION = f"{ARGUMENTS}.speculative_config"
_EAGLE = {"decoding_type": "Eagle3", "max_draft_len": 3, "speculative_model": "/draft"}
_PHI_4 = facts(architectures=["Phi3ForCausalLM"], model_type="phi3")
_NEXT = facts(architectures=["Qwen3NextForCausalLM"], model_type="qwen3_next")


def _drafts(checkpoint: CheckpointFacts) -> Example:
    config = v2_example({"speculative_config": _EAGLE}).config
    return on_trtllm(Example(config=config, checkpoint=checkpoint))


def _without_drafts() -> Fix:
    return Fix(label="Answer without drafts", patch=lambda _: {_SPECULATION: None}, safe=True)


NO_DRAFTER = Rule(
    code="EH458",
    name="drafter-of-a-class-that-takes-none",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_SPECULATION),
    concerns=lambda c: kind(c) in INSIDE_THE_ENGINE,
    when=lambda c: c.checkpoint.architecture in WITHOUT_DRAFTER,
    message=lambda c: (
        f"TensorRT-LLM's class for `{c.checkpoint.architecture}` has no place for a drafter, so "
        f"`{kind(c)}` has nothing to draft with."
    ),
    fix=_without_drafts(),
    source=sources.tensorrt_llm("_torch/models, what each class is made from"),
    bad=_drafts(_PHI_4),
    good=_drafts(LLAMA_8B),
)


NOT_IN_THE_MATRIX = Rule(
    code="EH459",
    name="drafts-that-the-matrix-of-models-denies",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_SPECULATION),
    concerns=lambda c: kind(c) is not None,
    when=lambda c: is_not_listed(kind(c), c.checkpoint.architecture),
    message=lambda c: (
        f"TensorRT-LLM's own matrix of models and features says No to `{kind(c)}` for "
        f"`{c.checkpoint.architecture}`: it may refuse drafts at its start, or never accept one."
    ),
    fix=_without_drafts(),
    source=sources.tensorrt_llm("Supported Models, Model-Feature Support Matrix"),
    bad=_drafts(_NEXT),
    good=_drafts(LLAMA_8B),
)

"""EH669: generators that the PyTorch backend of TensorRT-LLM has no class of."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.trtllm_classes import lacks_class
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import TRTLLM, Rule, Severity, at

_H100 = {"resources.accelerator": "H100"}


def has_no_class(c: Context) -> bool:
    """Return whether a known generator is none of TensorRT-LLM's PyTorch backend."""
    return lacks_class(c.checkpoint.architecture)


NO_CLASS = Rule(
    code="EH669",
    name="architecture-that-tensorrt-llm-has-not",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: not c.spec.base_model.is_encoder,
    when=has_no_class,
    message=lambda c: (
        f"TensorRT-LLM's PyTorch backend has no class for `{c.checkpoint.architecture}`, and ends "
        "at its start. Compiled engines had some that it lacks; they are no longer made."
    ),
    otherwise=other_engines,
    source=sources.tensorrt_llm("_torch/models/_arch_index.py and Supported Models"),
    bad=on_trtllm(
        Example(
            config=_H100, checkpoint=facts(architectures=["FalconForCausalLM"], model_type="falcon")
        )
    ),
    good=on_trtllm(Example(config=_H100, checkpoint=LLAMA_8B)),
)

RULES = (NO_CLASS,)

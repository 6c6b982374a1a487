"""EH669 and EH120: classes that TensorRT-LLM has not, and what one that it has does without."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.trtllm_class_features import features_of
from controlplane.domain.facts.trtllm_classes import CAME_LATER, lacks_class
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, V2, argument

_H100 = {"resources.accelerator": "H100"}


def has_no_class(c: Context) -> bool:
    return lacks_class(c.checkpoint.architecture, c.version)


def _why(c: Context) -> str:
    if c.checkpoint.architecture in CAME_LATER:
        return f"A later version than {c.version} has one."
    return "Compiled engines had some that it lacks; they are no longer made."


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
        f"TensorRT-LLM's PyTorch backend has no class for `{c.checkpoint.architecture}` in "
        f"{c.version}, and fails to start. {_why(c)}"
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

_REUSE = f"{ARGUMENTS}.kv_cache_config.enable_block_reuse"
_QWEN3_NEXT = facts(architectures=["Qwen3NextForCausalLM"], model_type="qwen3_next")


def _lacks_reuse(c: Context) -> bool:
    row = features_of(c.checkpoint.architecture)
    return row is not None and row.cache_reuse is False


NO_REUSE = Rule(
    code="EH120",
    name="cache-reuse-that-the-class-lacks",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_REUSE),
    concerns=lambda c: argument(c, "kv_cache_config", "enable_block_reuse") is True,
    when=_lacks_reuse,
    message=lambda c: (
        f"TensorRT-LLM's own matrix of models says that `{c.checkpoint.architecture}` does not "
        "reuse its KV cache: prompts that begin alike are computed anew, or the engine refuses."
    ),
    fix=Fix(label="Do without reuse", patch=lambda _: {_REUSE: False}, safe=True),
    source=sources.tensorrt_llm("Supported Models, Model-Feature Support Matrix"),
    bad=on_trtllm(Example(config={**V2, _REUSE: True}, checkpoint=_QWEN3_NEXT)),
    good=on_trtllm(Example(config={**V2, _REUSE: True}, checkpoint=LLAMA_8B)),
)

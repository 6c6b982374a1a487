"""EH117 to EH119: experts and attention that TensorRT-LLM has no kernel for on a GPU."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.trtllm_formats import (
    lacks_attention,
    lacks_block_experts,
    lacks_expert_kernels,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Config, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, V2, argument

_ACCELERATOR = "resources.accelerator"
_KERNELS = f"{ARGUMENTS}.moe_config.backend"
_L40S: Config = {_ACCELERATOR: "L40S"}
_QWEN3_MOE = facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_experts=128,
    num_experts_per_tok=8, moe_intermediate_size=768, hidden_size=2048,
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)  # fmt: skip
_DEEPSEEK_V4 = facts(architectures=["DeepseekV4ForCausalLM"], model_type="deepseek_v4")


def _lacks_kernel(c: Context) -> bool:
    return lacks_block_experts(c.checkpoint, c.gpu)


BLOCK_EXPERTS = Rule(
    code="EH117",
    name="experts-in-fp8-blocks-that-the-gpu-lacks",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.gpu.has_capability(8, 9),
    when=_lacks_kernel,
    message=lambda c: (
        "The checkpoint's experts are in FP8 blocks, and TensorRT-LLM has kernels for those only "
        f"on compute capability 9.0, 10 and 12.0; `{c.gpu.kind}` has {c.gpu.capability_text}."
    ),
    otherwise=other_engines,
    source=sources.tensorrt_llm("quantization, Hardware Support Matrix; fused_moe support tables"),
    bad=on_trtllm(Example(config=_L40S, checkpoint=_QWEN3_MOE)),
    good=on_trtllm(Example(config={_ACCELERATOR: "H100"}, checkpoint=_QWEN3_MOE)),
)

ATTENTION = Rule(
    code="EH118",
    name="attention-that-tensorrt-llm-lacks-on-the-gpu",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.gpu.compute_capability is not None,
    when=lambda c: lacks_attention(c.checkpoint.architecture, c.gpu),
    message=lambda c: (
        f"TensorRT-LLM serves `{c.checkpoint.architecture}` only on compute capability 10, such as "
        f"a B200. On `{c.gpu.kind}`, which has {c.gpu.capability_text}, its attention has no "
        "kernel, and the engine ends while it warms up."
    ),
    otherwise=other_engines,
    source=sources.tensorrt_llm("Supported Models, DeepSeek-V4"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "RTX_PRO_6000"}, checkpoint=_DEEPSEEK_V4)),
    good=on_trtllm(Example(config={_ACCELERATOR: "B200"}, checkpoint=_DEEPSEEK_V4)),
)


def _named(c: Context) -> object:
    return argument(c, "moe_config", "backend")


def _named_example(kind: str) -> Example:
    config = {**V2, _ACCELERATOR: kind, _KERNELS: "TRTLLM"}
    return on_trtllm(Example(config=config, checkpoint=_QWEN3_MOE))


NAMED_KERNELS = Rule(
    code="EH119",
    name="kernels-of-experts-that-the-gpu-lacks",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_KERNELS),
    concerns=lambda c: _named(c) is not None,
    when=lambda c: lacks_expert_kernels(_named(c), c.checkpoint, c.gpu),
    message=lambda c: (
        f"`moe_config.backend: {_named(c)}` names kernels for compute capability 10.0 and 10.3 "
        f"alone, and `{c.gpu.kind}` has {c.gpu.capability_text}: the engine fails to start. "
        "Without the setting it chooses kernels that suit."
    ),
    fix=Fix(label="Leave the kernels to the engine", patch=lambda _: {_KERNELS: None}, safe=False),
    source=sources.tensorrt_llm("_torch/modules/fused_moe, get_moe_cls"),
    bad=_named_example("H200"),
    good=_named_example("B200"),
)

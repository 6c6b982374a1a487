"""EH3: whether a rank's share of quantized weights is one that kernels and scales allow."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.rank_shares import has_experts, inputs_of_a_group
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, Config, Example, facts
from controlplane.domain.rules.parallelism.share_of_a_rank import (
    keep_experts_whole,
    ranks_and_devices,
    share_of,
)
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_PIPELINE = "trt_llm.build.pipeline_parallel_count"
_TWO: Config = {_ACCELERATOR: "H100:2", _TENSOR: 2, "enginehouse.runtime": "vllm"}
_EIGHT: Config = {_ACCELERATOR: "H100:8", _TENSOR: 8, "enginehouse.runtime": "vllm"}
_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
_QWEN_72B = facts(
    architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=8192,
    num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8,
    intermediate_size=29_568, vocab_size=152_064, max_position_embeddings=32_768,
    quantization_config=_GPTQ,
)  # fmt: skip
_QWEN_MOE = facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", hidden_size=4096,
    num_hidden_layers=94, num_attention_heads=64, num_key_value_heads=4, head_dim=128,
    num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536, intermediate_size=12_288,
    vocab_size=151_936, max_position_embeddings=40_960, quantization_config=_GPTQ,
)  # fmt: skip
_TURNED: Config = {
    "quant_method": "compressed-tensors", "format": "pack-quantized",
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
        "num_bits": 4, "type": "int", "strategy": "channel", "symmetric": True,
    }}},
    "transform_config": {"config_groups": {"R4": {"type": "hadamard", "apply": [
        {"targets": ["re:.*down_proj$"], "location": "input"},
    ]}}},
}  # fmt: skip
_BITSANDBYTES = {"existing_quantization": ExistingQuantization(method="bitsandbytes", bits=4)}


def _is_divided(c: Context) -> bool:
    return c.spec.tensor_parallel > 1


def _group(c: Context) -> int:
    return inputs_of_a_group(c.checkpoint)


def _cuts_groups(c: Context) -> bool:
    return share_of(c).is_cut_amid(_group(c))


def _has_experts(c: Context) -> bool:
    return has_experts(c.checkpoint)


def _message(c: Context, then: str) -> str:
    return (
        f"The checkpoint keeps a scale for each group of {_group(c)} inputs, and "
        f"{c.spec.tensor_parallel} ranks get {share_of(c).of_a_rank:,} inputs each, which is "
        f"not a multiple of that: {then}"
    )


def _stages(c: Context) -> Patch | None:
    if c.spec.is_v2 or c.spec.pipeline_parallel > 1:
        return None
    return {_TENSOR: None, _PIPELINE: c.spec.tensor_parallel}


CUT_GROUPS = Rule(
    code="EH330",
    name="groups-of-scales-cut-by-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: not _has_experts(c) and _cuts_groups(c),
    message=lambda c: _message(
        c,
        "no kernel of vLLM takes such a share. Use fewer ranks or pipeline stages, or a copy of "
        "the checkpoint whose MLP is padded.",
    ),
    fix=Fix(label="Use pipeline stages instead", patch=_stages, safe=True),
    source=sources.vllm("INT4 and INT8 kernels, sizes of partitions"),
    bad=Example(config=_TWO, checkpoint=_QWEN_72B),
    good=Example(
        config=_TWO, checkpoint=_QWEN_72B.model_copy(update={"intermediate_size": 29_696})
    ),
)

CUT_EXPERT_GROUPS = Rule(
    code="EH332",
    name="groups-of-experts-cut-by-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: _has_experts(c) and _cuts_groups(c),
    message=lambda c: _message(
        c,
        "vLLM falls back to a kernel that starts, and then fails each request. Use "
        "fewer ranks, or keep experts whole.",
    ),
    fix=Fix(label="Keep experts whole", patch=keep_experts_whole, safe=True),
    source=sources.vllm("issue 17604, size_k and BLOCK_SIZE_K"),
    bad=Example(config=_EIGHT, checkpoint=_QWEN_MOE),
    good=Example(config={**_EIGHT, _ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=_QWEN_MOE),
)

DIVIDED_BITSANDBYTES = Rule(
    code="EH331",
    name="bitsandbytes-over-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: (
        (existing := c.checkpoint.existing_quantization) is not None
        and existing.method.lower() == "bitsandbytes"
    ),
    message=lambda c: (
        "The checkpoint is quantized with bitsandbytes, whose state belongs to whole weights: "
        f"vLLM does not divide it over {c.spec.tensor_parallel} ranks. Pipeline stages divide by "
        "layers."
    ),
    fix=Fix(label="Use pipeline stages instead", patch=_stages, safe=True),
    source=sources.vllm("model_loader/bitsandbytes_loader.py"),
    bad=Example(config=_TWO, checkpoint=LLAMA_70B.model_copy(update=_BITSANDBYTES)),
    good=Example(
        config={_ACCELERATOR: "H100", "enginehouse.runtime": "vllm"},
        checkpoint=LLAMA_8B.model_copy(update=_BITSANDBYTES),
    ),
)


def _over_ranks(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    return (existing.unread.over_ranks or "") if existing else ""


TURNED_INPUTS = Rule(
    code="EH335",
    name="turned-inputs-over-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: bool(_over_ranks(c)),
    message=lambda c: (
        f"The checkpoint {_over_ranks(c)}, and vLLM does that on one rank alone: over "
        f"{c.spec.tensor_parallel} it fails to start. Pipeline stages divide by layers."
    ),
    fix=Fix(label="Use pipeline stages instead", patch=_stages, safe=True),
    source=sources.vllm("compressed_tensors/transform/module.py", checked="2026-11-30"),
    bad=Example(config=_TWO, checkpoint=facts(quantization_config=_TURNED)),
    good=Example(
        config={_ACCELERATOR: "H100", "enginehouse.runtime": "vllm"},
        checkpoint=facts(quantization_config=_TURNED),
    ),
)

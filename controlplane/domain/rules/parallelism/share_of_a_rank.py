"""EH3: how wide the share of a rank is."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.rank_shares import (
    MlpShare,
    has_experts,
    mlp_share,
    rows_of_a_block,
    width_beside_blocks,
)
from controlplane.domain.memory.parallelism import keeps_experts_whole
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_trtllm, on_vllm
from controlplane.domain.rules.rule import TRTLLM, VLLM, Fix, Patch, Rule, Severity, at

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_EXPERTS = "trt_llm.build.moe_expert_parallel_option"
_EXPERTS_V2 = "trt_llm.runtime.patch_kwargs.moe_expert_parallel_size"
_TWO: Config = {_ACCELERATOR: "H100:2", _TENSOR: 2}
_IN_BLOCKS = facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", hidden_size=4096,
    num_hidden_layers=94, num_attention_heads=64, num_key_value_heads=4, head_dim=128,
    num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536, intermediate_size=12_288,
    vocab_size=151_936, max_position_embeddings=40_960,
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)  # fmt: skip


def ranks_and_devices(c: Context) -> tuple[str, ...]:
    return (c.spec.tensor_parallel_path, _ACCELERATOR)


UNEVEN_MLP = Rule(
    code="EH319",
    name="ranks-that-do-not-divide-the-mlp",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=lambda c: (c.checkpoint.intermediate_size or 0) % c.spec.tensor_parallel != 0,
    message=lambda c: (
        f"The MLP is {c.checkpoint.intermediate_size or 0:,} wide, which is not a multiple of "
        f"{c.spec.tensor_parallel} GPUs; the engine may refuse to share it out."
    ),
    source=sources.tensorrt_llm("tensor_parallel_size, weight sharding"),
    bad=on_trtllm(
        Example(config=_TWO, checkpoint=LLAMA_8B.model_copy(update={"intermediate_size": 14_335}))
    ),
    good=on_trtllm(Example(config=_TWO, checkpoint=LLAMA_8B)),
)


def share_of(c: Context) -> MlpShare:
    """Return how vLLM shares out an MLP, or each expert; uneven shares are EH322's."""
    ranks = c.spec.tensor_parallel
    return mlp_share(c.checkpoint, ranks, keeps_experts_whole=keeps_experts_whole(c.spec, ranks))


def keep_experts_whole(c: Context) -> Patch | None:
    if not has_experts(c.checkpoint):
        return None
    return {_EXPERTS_V2 if c.spec.is_v2 else _EXPERTS: c.spec.tensor_parallel}


def _block(c: Context) -> int:
    return rows_of_a_block(c.checkpoint)


CUT_BLOCKS = Rule(
    code="EH320",
    name="blocks-of-scales-cut-by-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=lambda c: share_of(c).is_cut_amid(_block(c)),
    message=lambda c: (
        f"The checkpoint keeps a scale for each {_block(c)} rows of weights, and "
        f"{c.spec.tensor_parallel} ranks get {share_of(c).of_a_rank:,} rows each, which is not "
        "a multiple of that: vLLM fails to start. Use fewer ranks, or keep experts whole."
    ),
    fix=Fix(label="Keep experts whole", patch=keep_experts_whole, safe=True),
    source=sources.vllm("block quantization, output sizes of partitions"),
    bad=Example(
        config={_ACCELERATOR: "H100:8", _TENSOR: 8, "enginehouse.runtime": "vllm"},
        checkpoint=_IN_BLOCKS,
    ),
    good=Example(
        config={_ACCELERATOR: "H100:4", _TENSOR: 4, "enginehouse.runtime": "vllm"},
        checkpoint=_IN_BLOCKS,
    ),
)

_UNEVEN_BLOCKS = facts(
    architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2", hidden_size=2048,
    num_hidden_layers=27, num_attention_heads=16, num_key_value_heads=16, kv_lora_rank=512,
    intermediate_size=10_944, moe_intermediate_size=1408, n_routed_experts=64,
    num_experts_per_tok=6, vocab_size=102_400, max_position_embeddings=163_840,
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)  # fmt: skip

UNEVEN_BLOCKS = Rule(
    code="EH326",
    name="mlp-that-ends-amid-a-block-of-scales",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    when=lambda c: width_beside_blocks(c.checkpoint, share_of(c)) is not None,
    message=lambda c: (
        f"The checkpoint keeps a scale for each {_block(c)} rows of weights, and an MLP of it is "
        f"{width_beside_blocks(c.checkpoint, share_of(c)) or 0:,} wide, which is not a multiple of "
        "that: vLLM fails to start, on one GPU too. Name the original weights, or a copy whose "
        "scales go by channel."
    ),
    source=sources.vllm("fp8_utils.py, validate_fp8_block_shape", checked="2026-12-01"),
    bad=on_vllm(Example(config={_ACCELERATOR: "L40S"}, checkpoint=_UNEVEN_BLOCKS)),
    good=on_vllm(
        Example(
            config={_ACCELERATOR: "L40S"},
            checkpoint=_UNEVEN_BLOCKS.model_copy(update={"intermediate_size": 11_008}),
        )
    ),
)

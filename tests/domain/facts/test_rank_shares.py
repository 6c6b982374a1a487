"""What tensor parallelism gives each rank of a model: one answer for advice and rules."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.rank_shares import divides_whole, mlp_share
from controlplane.domain.memory import GpuOffer, fit
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.memory.models import spec_for

GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
QWEN2_72B = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8192,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
    "intermediate_size": 29_568, "vocab_size": 152_064, "max_position_embeddings": 32_768,
}  # fmt: skip
MIXTRAL = {
    "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14_336, "vocab_size": 32_000, "num_local_experts": 8,
    "num_experts_per_tok": 2, "max_position_embeddings": 32_768,
}  # fmt: skip


def read(config: dict[str, Any], **quantization: Any) -> CheckpointFacts:
    block = {"quantization_config": quantization} if quantization else {}
    return checkpoints.read({**config, **block})


@pytest.mark.parametrize(
    ("checkpoint", "whole", "share"),
    [
        (read(QWEN2_72B), False, (29_568, 2)),
        (read(MIXTRAL), False, (14_336, 2)),
        (read(MIXTRAL), True, (14_336, 1)),
        (read({**MIXTRAL, "moe_intermediate_size": 768}), False, (768, 2)),
        (read({"model_type": "qwen", "intermediate_size": 27_392}), False, (13_696, 2)),
    ],
)
def test_an_mlp_is_as_wide_as_the_file_says_in_the_words_of_its_family(
    checkpoint: CheckpointFacts, whole: bool, share: tuple[int, int]
) -> None:
    outcome = mlp_share(checkpoint, 2, keeps_experts_whole=whole)
    assert (outcome.width, outcome.shares) == share


def test_groups_of_scales_divide_as_blocks_do() -> None:
    older = {"quant_method": "awq", "w_bit": 4, "q_group_size": 128}
    assert not divides_whole(read(QWEN2_72B, **older), 2)
    assert divides_whole(read(QWEN2_72B), 2)
    assert not divides_whole(read(QWEN2_72B, **GPTQ), 2)
    assert divides_whole(read({**QWEN2_72B, "intermediate_size": 29_696}, **GPTQ), 2)
    experts = read({**MIXTRAL, "moe_intermediate_size": 1536}, **GPTQ)
    assert not divides_whole(experts, 8)
    assert divides_whole(experts, 8, keeps_experts_whole=True)


def test_no_division_is_advised_that_the_checks_refuse() -> None:
    checkpoint = read(QWEN2_72B, **GPTQ)
    offer = GpuOffer(kind="H100", count=4, memory_bytes=80 << 30)
    rows = fit(checkpoint, [offer], spec=spec_for("H100:4"), runtime=RUNTIMES["vllm"].memory)
    assert {(row.tensor_parallel, row.pipeline_parallel) for row in rows} == {(1, 1), (1, 4)}
    for row in rows:
        config = {
            "enginehouse.runtime": "vllm",
            "resources.accelerator": f"H100:{row.devices}",
            "trt_llm.build.pipeline_parallel_count": row.pipeline_parallel,
        }
        example = Example(config=config, checkpoint=checkpoint)
        findings = examine(example.content, example.known).report.findings
        assert not [each.code for each in findings if each.code.startswith("EH3")]

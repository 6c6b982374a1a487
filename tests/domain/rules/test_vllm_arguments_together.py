"""Arguments of vLLM that it refuses beside each other are found before a start."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm

_EXPERTS = {
    "resources.accelerator": "H100:2", "trt_llm.build.tensor_parallel_count": 2,
    "trt_llm.build.moe_expert_parallel_option": 2,
}  # fmt: skip


def refusals(arguments: dict[str, Any], **config: Any) -> list[Any]:
    asked = {"resources.accelerator": "H100", **config, "enginehouse.vllm_args": arguments}
    example = on_vllm(Example(config=asked, checkpoint=LLAMA_8B))
    findings = examine(example.content, example.known).report.findings
    return [each for each in findings if each.code == "EH694"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"enable_eplb": True},
        {"eplb-config": {"num_redundant_experts": 2}},
        {"enable-dbo": True},
        {"ubatch-size": 2, "all2all-backend": "naive"},
        {"dcp-comm-backend": "a2a"},
        {"cudagraph-capture-sizes": [1, 2], "max-cudagraph-capture-size": 4},
        {"attention-backend": "FLASH_ATTN", "attention-config": {"backend": "FLASH_ATTN"}},
        {"mamba-block-size": 64, "enable-prefix-caching": False},
        {"offload-group-size": 2, "offload-num-in-group": 3},
        {"structured-outputs-config": {"disable_any_whitespace": True}},
        {"enable-batch-sharded-sampling": True},
        {"enable-return-routed-experts": True, "decode-context-parallel-size": 2},
        {"engram-config": {"dp_shared_memory": True}},
    ],
    ids=str,
)
def test_what_vllm_ends_at_is_an_error_whose_fix_leaves_it_out(arguments: dict[str, Any]) -> None:
    (found,) = refusals(arguments)
    assert found.fields
    assert all(each.startswith("enginehouse.vllm_args.") for each in found.fields)


@pytest.mark.parametrize(
    "arguments",
    [
        {"enable-dbo": True, "all2all-backend": "deepep_low_latency"},
        {"enable-eplb": None},
        {"cudagraph-capture-sizes": [1, 4], "max-cudagraph-capture-size": 4},
        {"max-cpu-loras": 1, "max-loras": 4},
        {"structured-outputs-config": {"disable_any_whitespace": True, "backend": "xgrammar"}},
    ],
    ids=str,
)
def test_what_goes_together_is_none(arguments: dict[str, Any]) -> None:
    assert not refusals(arguments)


def test_experts_over_whole_ranks_may_be_balanced() -> None:
    assert not refusals({"enable-eplb": True}, **_EXPERTS)

"""A block of a hybrid's cache holds a request's state, and so many tokens at least."""

import pytest

from controlplane.domain.memory.state_blocks import least_block_tokens
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_vllm

_LENGTH = "trt_llm.build.max_seq_len"
_H100: Config = {"resources.accelerator": "H100", "trt_llm.build.max_batch_size": 8}
NEMOTRON = facts(
    architectures=["NemotronHForCausalLM"], model_type="nemotron_h", hidden_size=4096,
    num_hidden_layers=8, hybrid_override_pattern="MM*MM*MM", num_attention_heads=32,
    num_key_value_heads=2, head_dim=128, mamba_num_heads=128, mamba_head_dim=64, n_groups=8,
    ssm_state_size=128, conv_kernel=4, intermediate_size=8192, vocab_size=131_072,
    max_position_embeddings=262_144, tie_word_embeddings=False,
)  # fmt: skip
SEEN = 8320
"""Tokens of a block that vLLM gave layers of this shape with an FP8 cache (its issue 48401)."""


def block(config: Config, checkpoint: object = NEMOTRON) -> int:
    of = on_vllm(Example(config={**_H100, **config}, checkpoint=checkpoint))
    plan = examine(of.content, of.known).plan
    assert plan is not None
    return least_block_tokens(plan)


def test_a_block_holds_half_of_what_was_seen_at_least_as_a_state_may_take_16_bits() -> None:
    assert block({"trt_llm.build.quantization_type": "fp8_kv"}) == pytest.approx(SEEN / 2, rel=0.01)


def test_wider_keys_and_values_fill_it_with_fewer_tokens() -> None:
    assert block({}) == pytest.approx(SEEN / 4, rel=0.01)


def test_layers_without_a_state_ask_for_no_block() -> None:
    assert block({}, LLAMA_8B) == 0


@pytest.mark.parametrize(("longest", "says"), [(2000, True), (2100, False)])
def test_requests_below_a_block_are_told_that_no_prefix_is_kept(longest: int, says: bool) -> None:
    of = on_vllm(Example(config={**_H100, _LENGTH: longest}, checkpoint=NEMOTRON))
    codes = {each.code for each in examine(of.content, of.known).report.findings}
    assert ("EH523" in codes) == says

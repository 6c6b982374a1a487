"""What requests keep: windows, states, latents, and their division over ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.memory.kv_cache import KvLayout, kv_bytes_per_token, layout_of
from tests.domain.memory.models import LLAMA_8B, planned, public


def test_heads_are_divided_over_ranks_and_repeated_beyond_their_number() -> None:
    whole = kv_bytes_per_token(LLAMA_8B, element_bytes=2)
    assert whole == 131_072
    for ranks, share in ((2, 2), (4, 4), (8, 8), (16, 8)):
        each = kv_bytes_per_token(LLAMA_8B, element_bytes=2, tensor_parallel=ranks)
        assert each == whole // share


def test_a_latent_is_on_every_rank() -> None:
    deepseek = public("deepseek-ai/DeepSeek-R1")
    one = kv_bytes_per_token(deepseek, element_bytes=2)
    eight = kv_bytes_per_token(deepseek, element_bytes=2, tensor_parallel=8)
    assert one == eight == 70_272


def test_stages_divide_the_layers() -> None:
    each = kv_bytes_per_token(LLAMA_8B, element_bytes=2, pipeline_parallel=4)
    assert each == 131_072 // 4


def test_a_window_keeps_no_more_than_its_tokens() -> None:
    layout = layout_of(public("openai/gpt-oss-20b"), element_bytes=2)
    assert layout is not None
    per_layer = 2 * 8 * 64 * 2
    assert layout.windowed == ((128, 12 * per_layer),)
    assert layout.request_bytes(100) == 100 * 24 * per_layer
    assert layout.request_bytes(10_000) == 10_000 * 12 * per_layer + 128 * 12 * per_layer


def test_a_hybrid_keeps_a_state_whatever_its_length() -> None:
    nemotron = public("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    layout = layout_of(nemotron, element_bytes=2)
    assert layout is not None
    state = 23 * (64 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 3 * 2)
    assert layout.state == state
    assert layout.request_bytes(1000) - layout.request_bytes(0) == 1000 * 6 * 2 * 2 * 128 * 2
    halved = layout_of(nemotron, element_bytes=2, tensor_parallel=2)
    assert halved is not None
    assert halved.state == state // 2


def test_windows_let_more_long_requests_in() -> None:
    gemma = public("google/gemma-4-26B-A4B")
    all_full = gemma.model_copy(
        update={"layer_groups": tuple(
            group.model_copy(update={"window": None}) for group in gemma.layer_groups
        )}
    )  # fmt: skip
    windowed = planned(gemma, max_seq_len=32_768)
    full = planned(all_full, max_seq_len=32_768)
    assert windowed.full_length_requests > 4 * full.full_length_requests
    assert "sliding windows" in windowed.estimates


_layouts = st.builds(
    KvLayout,
    unbounded=st.integers(1, 10**6),
    windowed=st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 10**5)), max_size=2).map(
        tuple
    ),
    state=st.integers(0, 10**7),
)


@given(_layouts, st.integers(0, 10**11), st.integers(1, 10**6))
def test_the_longest_request_fits_and_one_more_token_does_not(
    layout: KvLayout, budget: int, length: int
) -> None:
    longest = layout.longest(budget)
    if longest:
        assert layout.request_bytes(longest) <= budget
    assert layout.request_bytes(longest + 1) > budget
    assert layout.request_bytes(length) <= layout.request_bytes(length + 1)
    assert layout.tokens(budget, length) >= 0


@pytest.mark.parametrize("tokens", [1, 127, 128, 4096])
def test_without_windows_and_states_tokens_are_bytes_divided(tokens: int) -> None:
    layout = KvLayout(unbounded=1000)
    assert layout.tokens(1000 * tokens + 999, 4096) == tokens
    assert layout.longest(1000 * tokens + 999) == tokens

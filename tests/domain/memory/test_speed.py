"""Floors and ranges against steps measured with vLLM 0.25.1 on one H100, Qwen3-8B shape."""

import pytest

from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.memory.speed import Speed, tokens_per_step
from tests.domain.memory.models import QWEN3_8B, planned, public

_LOOKAHEAD = {
    "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 1,
    "lookahead_ngram_size": 32, "lookahead_verification_set_size": 1,
}  # fmt: skip


def _speed(**build: object) -> Speed:
    speed = planned(QWEN3_8B, max_seq_len=2048, **build).speed  # type: ignore[arg-type]
    assert speed is not None
    return speed


@pytest.mark.parametrize(("precision", "milliseconds"), [("no_quant", 4.52), ("fp8", 2.44)])
def test_the_floor_is_the_bytes_read_over_the_bandwidth(
    precision: str, milliseconds: float
) -> None:
    cache = 2048 * 147_456 / 3.35e12 * 1000
    floor = _speed(quantization_type=precision).step_floor_seconds * 1000
    assert floor == pytest.approx(milliseconds + cache, rel=0.01)


@pytest.mark.parametrize(
    ("precision", "batch", "measured"),
    [("no_quant", 1, 145.7), ("no_quant", 64, 4733), ("fp8", 1, 219.4), ("fp8", 64, 5975),
     ("fp8_kv", 1, 213.2), ("fp8_kv", 64, 7040)],
)  # fmt: skip
def test_a_measured_speed_lies_in_the_range(precision: str, batch: int, measured: float) -> None:
    tokens_per_second = _speed(quantization_type=precision).tokens_per_second(batch)
    assert tokens_per_second.low <= measured <= tokens_per_second.high


@pytest.mark.parametrize(
    ("drafts", "accepted", "batch", "measured"),
    [(31, 26, 1, 3159), (31, 26, 4, 10_393), (63, 40, 1, 4882), (63, 40, 4, 13_285),
     (31, 24.4, 1, 2760)],
)  # fmt: skip
def test_a_measured_speed_with_drafts_lies_in_the_range(
    drafts: int, accepted: float, batch: int, measured: float
) -> None:
    tokens_per_second = _speed(quantization_type="fp8").tokens_per_second(
        batch, draft_tokens=drafts, tokens_per_step=accepted
    )
    assert tokens_per_second.low <= measured <= tokens_per_second.high


@pytest.mark.parametrize("precision", ["no_quant", "fp8"])
def test_two_hundred_and_ninety_five_tokens_are_verified_free_on_an_h100(precision: str) -> None:
    assert _speed(quantization_type=precision).free_verification_tokens == 295


def test_the_largest_batch_with_free_verification_counts_the_drafts() -> None:
    speed = _speed(quantization_type="fp8", speculator=_LOOKAHEAD)
    assert speed.work.draft_tokens == 61
    assert speed.free_verification_batch == 295 // 62


def test_tokens_per_step_grow_with_the_draft_length_and_end_where_measured() -> None:
    lengths = [tokens_per_step(length) for length in (0, 4, 8, 16, 24, 32, 64, 500)]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[2], lengths[5], lengths[-1]) == (1.0, 5.9, 12.8, 15.0)


def test_a_step_of_one_token_reads_few_experts_and_a_large_batch_nearly_all() -> None:
    speed = planned(public("Qwen/Qwen3-235B-A22B"), "H200:8", max_seq_len=2048).speed
    assert speed is not None
    few = speed.step_floor_seconds
    all_of_them = (speed.work.weight_bytes + speed.work.experts_bytes) / 4.8e12
    assert few < all_of_them / 5
    busy = speed.tokens_per_second(256)
    assert 256 / busy.high > all_of_them


def test_no_speed_is_stated_for_an_encoder_or_a_cpu() -> None:
    assert planned(QWEN3_8B, base_model="encoder").speed is None


def test_every_kind_has_the_numbers_that_a_speed_needs() -> None:
    for gpu in PLANNABLE_GPUS.values():
        assert gpu.bytes_per_second, gpu.kind
        assert gpu.flops, gpu.kind
        assert bool(gpu.fp8_flops) == gpu.has_capability(8, 9), gpu.kind
        assert bool(gpu.fp4_flops) == gpu.has_capability(10, 0), gpu.kind
        assert gpu.source.checked.startswith("2026-"), gpu.kind


def test_speed_is_told_with_and_without_lookahead_at_a_stated_acceptance() -> None:
    plain = planned(QWEN3_8B, max_seq_len=8192).to_json()["speed"]
    speed_plan = planned(
        QWEN3_8B, max_seq_len=8192,
        speculator={
            "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 3,
            "lookahead_ngram_size": 8, "lookahead_verification_set_size": 3,
        },
    ).to_json()["speed"]  # fmt: skip
    assert plain["lookahead"] == speed_plan["lookahead"] | {"asked": False}
    assert speed_plan["lookahead"]["asked"] is True
    drafting = speed_plan["lookahead"]
    assert (drafting["draft_tokens"], drafting["assumed_tokens_per_step"]) == (41, 13.4)
    fast, slow = speed_plan["lookahead"]["tokens_per_second"], speed_plan["tokens_per_second"]
    assert slow["high"] < fast["low"] < fast["high"]

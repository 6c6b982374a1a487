"""What a check says of lookahead's cost under vLLM is what was measured and kept."""

import json
from pathlib import Path

import pytest

from controlplane.domain.facts import lookahead_speed as speed

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks/results"
SIDES = json.loads((RESULTS / "lookahead-h200-2026-11-30.json").read_text())["sides"]
LONGER = json.loads((RESULTS / "lookahead_longer-h200-2026-11-30.json").read_text())["sides"]


def test_the_speeds_are_those_of_the_kept_result() -> None:
    plain, drafted = SIDES["none"]["unlike"], SIDES["ours_63"]["unlike"]
    assert round(plain["tokens_per_second"]) == speed.TOKENS_PER_SECOND_WITHOUT
    assert round(drafted["tokens_per_second"]) == speed.TOKENS_PER_SECOND_COPYING_NOTHING
    for copied, steps_per_second in (
        (SIDES["ours_63"]["verbatim"], speed.DRAFTED_STEPS_PER_SECOND),
        (LONGER["ours_127"]["verbatim"], speed.LONG_DRAFTED_STEPS_PER_SECOND),
    ):
        assert round(copied["num_drafts"] / copied["decoding_seconds"]) == steps_per_second


def test_loss_and_break_even_follow_from_them() -> None:
    assert speed.loss_share() == pytest.approx(0.39, abs=0.005)
    assert speed.break_even_accepted_tokens() == pytest.approx(0.79, abs=0.005)

"""What a run says in a sentence, and beside its plan."""

import pytest

from controlplane.domain.benchmarks.order import Limits
from controlplane.domain.benchmarks.planned import (
    PlannedAgainstMeasured,
    cost_per_million_tokens,
    planned_against_measured,
)
from controlplane.domain.benchmarks.verdicts import broken_limits, largest_load

LIMITS = Limits(error_share=0.01, first_token_p90_seconds=1.0)


def stage(level: float, **changes) -> dict:
    values = {
        "load": "concurrency", "level": level, "is_partial": False, "error_share": 0.0,
        "first_token_seconds": {"p90": 0.5}, "inter_token_seconds": {"p90": 0.02},
        "end_to_end_seconds": {"p90": 3.0}, "completion_tokens_per_second": 50.0 * level,
        "texts_per_second": 1.0,
    } | changes  # fmt: skip
    return values | {"broken_limits": broken_limits(LIMITS, values)}


def test_a_level_breaks_the_limits_that_it_does_not_keep_and_says_by_how_much():
    report = stage(8, error_share=0.05, first_token_seconds={"p90": 2.5})
    assert report["broken_limits"] == [
        "error share 5 % above 1 %", "p90 first token 2.5 s above 1 s",
    ]  # fmt: skip
    assert stage(8, error_share=None)["broken_limits"] == ["nothing was answered"]


def test_the_largest_load_within_the_limits_is_one_sentence():
    stages = [stage(1), stage(8), stage(64, first_token_seconds={"p90": 4.0})]
    assert largest_load("qwen", LIMITS, stages) == (
        "`qwen` carries 8 requests at a time within p90 first token ≤ 1 s, errors ≤ 1 %: "
        "400 tokens/s."
    )
    assert largest_load("qwen", LIMITS, stages[:2]).endswith("; nothing higher was tried.")
    assert "even at 64 requests at a time" in largest_load("qwen", LIMITS, stages[2:])
    assert "quickest at 64 requests" in largest_load("qwen", Limits(), stages)
    assert largest_load("qwen", LIMITS, [stage(1, is_partial=True)]) == ""


def test_the_plan_is_held_against_the_levels_that_it_speaks_of():
    plan = {
        "capacity": {"kv_tokens": 1000},
        "speed": {"tokens_per_second": {"low": 60, "high": 80}, "batch": 4,
                  "batch_tokens_per_second": {"low": 100, "high": 150}},
    }  # fmt: skip

    rows = planned_against_measured(
        plan, [stage(2), stage(8), stage(16)], replicas=2, reported_kv_tokens=990
    )

    assert [(row.figure, row.concurrency, row.measured) for row in rows] == [
        ("kv_tokens", None, 990), ("tokens_per_second", 1, 50.0), ("tokens_per_second", 4, 200.0),
    ]  # fmt: skip
    assert [round(row.difference_ratio, 3) for row in rows] == [-0.01, -0.167, 0.333]
    assert planned_against_measured(None, [stage(1)], replicas=1, reported_kv_tokens=1) == []


def test_within_its_range_a_plan_is_right():
    row = PlannedAgainstMeasured(
        figure="tokens_per_second", concurrency=1, planned_low=60, planned_high=80, measured=79
    )
    assert row.difference_ratio == 0


def test_a_million_tokens_cost_what_the_hours_do_in_which_they_come():
    assert cost_per_million_tokens(stage(8), 3.6) == pytest.approx(2.5)
    assert cost_per_million_tokens(stage(8), None) is None
    assert cost_per_million_tokens(stage(8, completion_tokens_per_second=0.0), 3.6) is None

"""Times of steps that a tuning predicts by are those of kept results."""

import json
from pathlib import Path

import pytest

from controlplane.domain.runtimes.native.lookahead_steps import STEPS

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks/results"


def test_what_verifying_costs_on_a_cpu_is_what_was_measured() -> None:
    kept = json.loads((RESULTS / "lookahead_cpu-x86_64-2026-11-30.json").read_text())
    (steps,) = STEPS
    measured = {int(n): each for n, each in kept["verification_to_plain_step"].items()}
    assert len(steps.drafted_seconds) > 4
    for drafted, seconds in steps.drafted_seconds:
        assert seconds == pytest.approx(measured[drafted], abs=0.01)


def test_between_what_was_measured_a_step_is_on_the_straight_line() -> None:
    (steps,) = STEPS
    low, high = steps.drafted_seconds[2:4]
    middle = (low[0] + high[0]) / 2
    assert steps.seconds_of_one(middle) == pytest.approx((low[1] + high[1]) / 2)
    beyond = 2 * steps.drafted_seconds[-1][0]
    assert steps.seconds_of_one(beyond) > steps.drafted_seconds[-1][1]
    assert steps.seconds_of_one(None) == steps.plain_seconds

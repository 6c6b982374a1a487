"""Figures of tasks: read as lm-eval reports them, and judged by their limits."""

import math
from typing import Any

import pytest

from controlplane.domain.spec.gate_tasks import GateTask
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.tasks.results import Figures, chosen, compare, figures_of

FOUND: dict[str, Any] = {
    "results": {
        "mine": {
            "alias": "mine", "sample_len": 40, "acc,none": 0.75, "acc_stderr,none": "N/A",
            "exact_match,strict": 0.5, "exact_match_stderr,strict": 0.1, "perplexity,none": 9.5,
        }
    },
    "higher_is_better": {"mine": {"acc": True, "exact_match": True, "perplexity": False}},
    "n-samples": {"mine": {"original": 400, "effective": 40}},
}  # fmt: skip


def result(before: float, after: float, *, better: bool = True, **asked: Any) -> Any:
    def figures(value: float) -> Figures:
        return Figures(values={"acc": value}, higher_is_better={"acc": better}, questions=40)

    return compare("mine", GateTask(**asked), figures(before), figures(after))


def test_counts_and_errors_are_no_figures() -> None:
    figures = figures_of("mine", FOUND)
    assert figures.values == {"acc": 0.75, "exact_match,strict": 0.5, "perplexity": 9.5}
    assert figures.higher_is_better["perplexity"] is False
    assert figures.questions == 40


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(None, "acc"), ("perplexity", "perplexity"), ("exact_match", "exact_match,strict"),
     ("exact_match,strict", "exact_match,strict")],
)  # fmt: skip
def test_the_first_figure_judges_unless_another_is_named(wanted: str | None, found: str) -> None:
    assert chosen("mine", wanted, list(figures_of("mine", FOUND).values)) == found


@pytest.mark.parametrize("found", [FOUND, {"results": {}}])
def test_a_figure_that_is_not_there_is_refused_with_those_that_are(found: dict[str, Any]) -> None:
    figures = figures_of("mine", found)
    with pytest.raises(StepFailure) as raised:
        chosen("mine", "f1", list(figures.values))
    assert raised.value.failure.code == "EHG-TASK-METRIC"
    assert ("`acc`" if figures.values else "it has none") in raised.value.failure.sentence


@pytest.mark.parametrize(
    ("before", "after", "asked", "fails"),
    [
        (0.8, 0.78, {}, False),
        (0.8, 0.775, {}, True),
        (0.8, 0.9, {"max_loss": 0}, False),
        (0.8, 0.8, {"max_loss": 0}, False),
        (0.8, 0.79, {"max_loss": 0}, True),
        (0.8, 0.72, {"max_loss_share": 0.1}, False),
        (0.8, 0.71, {"max_loss_share": 0.1}, True),
        (0.8, 0.76, {"max_loss": 0.03, "max_loss_share": 0.1}, True),
        (0.0, 0.0, {"max_loss_share": 0.1}, False),
    ],
)
def test_a_loss_over_either_limit_fails(
    before: float, after: float, asked: dict[str, float], fails: bool
) -> None:
    assert (result(before, after, **asked).failure() is not None) is fails


def test_a_figure_that_is_better_when_less_is_lost_when_it_rises() -> None:
    assert result(9.0, 8.0, better=False).failure() is None
    failure = result(9.0, 9.5, better=False, max_loss=0.3).failure().failure
    assert failure.code == "EHG-TASK-LOSS"
    assert "`acc` of the task `mine` from 9.0000 to 9.5000 on 40 questions" in failure.sentence
    assert "a loss of 0.3000" in failure.sentence
    assert "promote anyway" in failure.hint


def test_a_figure_that_is_no_number_passes_no_gate() -> None:
    with pytest.raises(StepFailure) as raised:
        result(0.5, math.nan)
    assert raised.value.failure.code == "EHG-NOT-FINITE"

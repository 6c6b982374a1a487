"""Every benchmark says its figures in one object, judges them by their bars, and ends by that."""

import json

import pytest

from benchmarks import report
from benchmarks.machine_speed import loop_seconds

BARS = {"a_ratio": report.at_most(2), "rows": report.at_least(70)}


@pytest.mark.parametrize(
    ("figures", "missed"),
    [
        ({"a_ratio": 2.0, "rows": 70}, []),
        ({"a_ratio": 2.01, "rows": 70}, ["a_ratio"]),
        ({"a_ratio": 1.0, "rows": 69}, ["rows"]),
        ({"a_ratio": None, "rows": 71}, []),
    ],
)
def test_a_missed_bar_is_named_and_ends_with_1_and_what_was_not_measured_is_not_judged(
    figures: dict[str, float | None], missed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = report.Report(as_json=True).end(figures, BARS)
    content = json.loads(capsys.readouterr().out)
    assert status == int(bool(missed))
    assert content["bars_missed"] == missed
    assert content["bars_met"] is (not missed)
    assert {name: content[name] for name in figures} == figures


def test_two_runs_can_be_compared_by_machine_and_by_how_fast_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.Report(as_json=True).end({}, {})
    content = json.loads(capsys.readouterr().out)
    assert content["machine_loop_seconds"] > 0
    assert "Python" in content["machine"]
    assert content["command"].startswith("python benchmarks/")


def test_in_words_a_bar_stands_beside_its_figure(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"a_ratio": 2.5, "rows": None, "by_kind": {"fix": {"p50": 1}}}
    report.Report(as_json=False).end(figures, BARS)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a_ratio 2.5 (bar: at most 2, MISSED)" in lines
    assert "rows not measured (bar: at least 70)" in lines
    assert "fix p50 1" in lines


def test_the_loop_that_tells_the_speed_takes_some_time() -> None:
    assert loop_seconds() > 0

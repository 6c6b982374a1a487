"""The table of public reports is what the checks say today, and no report passes unforeseen."""

from collections import Counter
from typing import Any

import pytest

from benchmarks import public_cases
from benchmarks.public_cases import PAGE, Verdict, judge, judge_all, page, unforeseen

_LLAMA_70B = next(each for each in public_cases.cases() if each["source"].endswith("#5711"))


def test_the_table_is_fresh() -> None:
    text = PAGE.read_text()
    assert page(text, judge_all()) == text, "python benchmarks/public_cases.py"


@pytest.mark.parametrize("text", ["no table", PAGE.read_text() * 2])
def test_a_page_without_one_place_for_the_table_is_refused(text: str) -> None:
    with pytest.raises(SystemExit, match="no one place"):
        page(text, [])


def test_the_checks_foresee_every_report() -> None:
    assert [each.case["source"] for each in unforeseen(judge_all())] == []


def test_there_are_sixty_reports_each_told_once_with_its_day() -> None:
    cases = public_cases.cases()
    assert len(cases) >= 60
    assert max(Counter(each["id"] for each in cases).values()) == 1
    rows = [(each["source"], str(each["config"]), str(each["checkpoint"])) for each in cases]
    assert len(set(rows)) == len(cases)
    assert all(len(each["reported"]) == len("2026-11-30") for each in cases)
    assert all(each["gpu"] or "gpu" in each["assumed"] for each in cases)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.RIGHT),
        ({"expected": {"codes": ["EH501"], "field": "trt_llm.build.max_seq_len"}}, Verdict.PARTLY),
        ({"expected": {"codes": ["EH304"], "field": "resources.accelerator"}}, Verdict.PARTLY),
        ({"outcome": "runs"}, Verdict.WRONG),
        ({"config": {"resources.accelerator": "B200"}}, Verdict.SILENT),
        ({"config": {"resources.accelerator": "B200"}, "outcome": "runs"}, Verdict.RIGHT),
    ],
)
def test_a_verdict_compares_what_happened_with_what_is_said(
    changes: dict[str, Any], verdict: Verdict
) -> None:
    assert judge({**_LLAMA_70B, **changes}).verdict is verdict

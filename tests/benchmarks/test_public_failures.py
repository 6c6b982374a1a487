"""The table of reported logs is what the explainer says today, and none passes unexplained."""

from typing import Any

import pytest

from benchmarks.public_cases import Verdict
from benchmarks.public_failures import PAGE, cases, page, tell, unexplained

_TOLD = [tell(each) for each in cases()]
_RIGHT = {
    "engine": "vllm",
    "config": {},
    "log": "ValueError: Head size 160 is not supported by PagedAttention.",
    "expected": {"blame": ["checkpoint"], "fields": ["trt_llm.build.checkpoint_repository.repo"]},
}


def test_the_table_is_fresh() -> None:
    text = PAGE.read_text()
    assert page(text, _TOLD) == text, "python benchmarks/public_failures.py"


def test_the_explainer_knows_every_log() -> None:
    assert [each.case["source"] for each in unexplained(_TOLD)] == []


def test_a_page_without_one_place_for_the_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="no one place"):
        page("no table", [])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.RIGHT),
        ({"expected": {"blame": ["checkpoint"], "fields": [None]}}, Verdict.PARTLY),
        ({"expected": {"blame": ["machine"], "fields": [None]}}, Verdict.WRONG),
        ({"log": "all went well"}, Verdict.SILENT),
        ({"log": "RuntimeError: Engine core initialization failed. See root cause above."},
         Verdict.SILENT),
        ({"log": 'Traceback (most recent call last):\n  File "/x/vllm/config/a.py", line 1\n'
                 "KeyError: 'odd'"}, Verdict.PARTLY),
    ],
)  # fmt: skip
def test_a_verdict_compares_the_answer_with_the_one_deserved(
    changes: dict[str, Any], verdict: Verdict
) -> None:
    assert tell({**_RIGHT, **changes}).verdict is verdict

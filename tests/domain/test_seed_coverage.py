"""Each limit, number and advice of the five source documents has its rule, preset or constant.

One row of `data/seed_coverage.txt` each, by document and section, in our own words: what a config
can follow or break. How to call an endpoint is not in it; the engines' own tests are about that.
"""

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path

from controlplane.domain.presets import PRESETS
from controlplane.domain.rules import ALL_RULES
from controlplane.domain.spec import Problem
from tests.every_case import every_case

ROWS_FILE = Path(__file__).parent / "data" / "seed_coverage.txt"
DOCUMENTS = {
    "engines-overview": 45,
    "engine-builder-llm-overview": 70,
    "lookahead-decoding": 40,
    "performance-optimization": 8,
    "quantization-guide": 44,
}
CODES = {rule.code for rule in ALL_RULES} | {problem.value for problem in Problem}
NAMES = {preset.name for preset in PRESETS}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing that a document says, and what answers it here."""

    document: str
    section: str
    says: str
    answers: tuple[str, ...]


def _rows() -> list[Row]:
    outcome, document = [], ""
    for line in ROWS_FILE.read_text().splitlines():
        if line.startswith("# "):
            document = line.removeprefix("# ")
            continue
        section, says, answers = (part.strip() for part in line.split("|"))
        outcome.append(
            Row(document=document, section=section, says=says, answers=tuple(answers.split()))
        )
    return outcome


ROWS = _rows()


def _is_known(answer: str) -> bool:
    if answer.startswith("EH"):
        return answer in CODES
    if answer.startswith("preset:"):
        return answer.removeprefix("preset:") in NAMES
    package, module, *attributes = answer.split(".")
    try:
        reduce(getattr, attributes, import_module(f"controlplane.domain.{package}.{module}"))
    except (ImportError, AttributeError):
        return False
    return bool(attributes)


@every_case("row", ROWS, ids=lambda row: f"{row.document}: {row.says}")
def test_what_a_document_says_has_an_answer(row: Row) -> None:
    assert row.section
    assert row.says
    assert row.answers, "an empty cell"
    unknown = [answer for answer in row.answers if not _is_known(answer)]
    assert not unknown


def test_all_five_documents_are_covered_and_no_row_is_there_twice() -> None:
    counts = {name: sum(row.document == name for row in ROWS) for name in DOCUMENTS}
    assert {row.document for row in ROWS} == set(DOCUMENTS)
    assert all(counts[name] >= least for name, least in DOCUMENTS.items()), counts
    assert len({(row.document, row.section, row.says) for row in ROWS}) == len(ROWS)


def test_an_unknown_answer_is_not_taken() -> None:
    assert not _is_known("EH999")
    assert not _is_known("preset:none")
    assert not _is_known("memory.speed.NOT_THERE")

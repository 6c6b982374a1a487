"""What the checks say of mistakes that people reported in public: a table of `docs/checks.md`.

    python benchmarks/public_cases.py [--check] [--json]

Each case of `tests/domain/data/public_cases.jsonl` holds what was asked, of which checkpoint and
GPU, by which version where that is told, what really happened, and the verdict that is expected;
the newer ones also the verdict of the first trial, before anything was mended for them. Exit 1
where a verdict is silent or wrong; with `--check`, which writes nothing, also where the table is
stale.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.report import Finding
from controlplane.domain.rules.rule import Severity

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests/domain/data/public_cases.jsonl"
PAGE = ROOT / "docs/checks.md"
_MARKS = ("<!-- public cases: begin -->", "<!-- public cases: end -->")
_FAILED = ("refused", "fails")
"""Outcomes in which nothing was served."""

_UNSET = {"trt_llm.build.max_seq_len": None}
"""What the smallest config of rules' examples sets and no report does."""

Case = Mapping[str, Any]


class Verdict(StrEnum):
    """How well the checks foresaw what happened."""

    RIGHT = "right"
    """The expected finding, as severe as the outcome, at the setting that was to blame."""
    PARTLY = "partly"
    """The build is stopped or warned of, for another reason or at another setting."""
    SILENT = "silent"
    WRONG = "wrong"
    """An error where it really runs."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A case, and what the checks made of it."""

    case: Case
    verdict: Verdict
    codes: tuple[str, ...]
    """Of the expected findings that were there, else of every error."""


def main() -> int:
    """Write the table, or say whether it is fresh and every case is foreseen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    judged = judge_all()
    if asked.json:
        print(json.dumps(_as_json(judged)))
    text = page(PAGE.read_text(), judged)
    if not asked.check:
        PAGE.write_text(text)
    return 0 if PAGE.read_text() == text and not unforeseen(judged) else 1


def cases() -> list[Case]:
    """Return the public cases, one a line of the file."""
    return [json.loads(line) for line in CASES.read_text().splitlines()]


def judge_all() -> list[Judged]:
    """Return every case with its verdict."""
    return [judge(each) for each in cases()]


def unforeseen(judged: Sequence[Judged]) -> list[Judged]:
    """Return what the checks were silent about, or wrong."""
    return [each for each in judged if each.verdict in (Verdict.SILENT, Verdict.WRONG)]


def judge(case: Case) -> Judged:
    """Return how well the checks foresee what happened."""
    findings = _findings(case)
    expected = [each for each in findings if each.code in case["expected"].get("codes", ())]
    errors = [each for each in findings if each.severity is Severity.ERROR]
    codes = dict.fromkeys(each.code for each in expected or errors)
    return Judged(case=case, verdict=_verdict(case, expected, errors), codes=tuple(codes))


def _verdict(case: Case, expected: Sequence[Finding], errors: Sequence[Finding]) -> Verdict:
    if case["outcome"] not in _FAILED and errors:
        return Verdict.WRONG
    if case["outcome"] == "runs":
        return Verdict.RIGHT
    if any(_says_it(case, each) for each in expected):
        return Verdict.RIGHT
    return Verdict.PARTLY if expected or errors else Verdict.SILENT


def _says_it(case: Case, finding: Finding) -> bool:
    """Return whether the finding names the setting, and stops what could not be served."""
    is_strong = finding.severity is Severity.ERROR or case["outcome"] not in _FAILED
    field = case["expected"]["field"]
    return is_strong and any(
        each == field or each.startswith(f"{field}.") for each in finding.fields
    )


def _findings(case: Case) -> Sequence[Finding]:
    config = {"enginehouse.runtime": case["engine"], **_UNSET, **case["config"]}
    failure = _failure(case)
    example = Example(
        config=config,
        checkpoint=None if failure else checkpoint_of(case),
        checkpoint_failure=failure,
        versions=_versions(case),
    )
    examination = examine(example.content, example.known)
    assert examination.report is not None, (case["id"], examination.errors)
    return examination.report.findings


def _versions(case: Case) -> frozenset[tuple[str, str]]:
    """Return the version that hosts report, where the report's is one that the checks know."""
    version = case.get("version")
    return frozenset({(case["engine"], version)}) if version else frozenset()


def _failure(case: Case) -> Failure | None:
    """Return what reading the checkpoint ended with, where it cannot be read."""
    code = case.get("cannot_be_read")
    if code is None:
        return None
    return Failure(code=code, blame=Blame.CHECKPOINT, sentence="It cannot be read.")


def checkpoint_of(case: Case) -> CheckpointFacts:
    """Return the facts of a case's checkpoint."""
    return checkpoints.read(
        case["checkpoint"],
        adapter_config=case.get("adapter"),
        pooling_config=case.get("pooling"),
        files=case.get("files", ()),
        weight_bytes=case.get("weight_bytes"),
        has_chat_template=case.get("chat_template", True),
    )


def page(text: str, judged: Sequence[Judged]) -> str:
    """Return the page with the table of these cases between its marks."""
    begin, end = (re.escape(mark) for mark in _MARKS)
    table = "\n".join([_MARKS[0], "", *_lines(judged), "", _MARKS[1]])
    found, replaced = re.subn(f"{begin}.*?{end}", lambda _: table, text, flags=re.DOTALL)
    if replaced != 1:
        raise SystemExit(f"{PAGE} has no one place for the table: {' … '.join(_MARKS)}")
    return found


def _lines(judged: Sequence[Judged]) -> Iterator[str]:
    yield _summary(judged)
    yield ""
    yield "| report | of | GPU | what happened | expected | found | verdict |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(each) for each in judged)


def _summary(judged: Sequence[Judged]) -> str:
    now = _counted([each.verdict for each in judged])
    first = [Verdict(each.case["first"]) for each in judged if "first" in each.case]
    tried = f" The last {len(first)} at their first trial: {_counted(first)}." if first else ""
    return f"{len(judged)} reports: {now}.{tried}{_rounds(judged)}"


def _rounds(judged: Sequence[Judged]) -> str:
    """Return what the rounds got whose answers were written down before the first trial."""
    numbers = sorted({each.case["round"] for each in judged if "round" in each.case})
    by_round = {
        number: [Verdict(each.case["first"]) for each in judged
                 if each.case.get("round") == number]
        for number in numbers
    }  # fmt: skip
    return "".join(
        f" Of those, round {number}: {_counted(first)}." for number, first in by_round.items()
    )


def _counted(verdicts: Sequence[Verdict]) -> str:
    count = Counter(verdicts)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in Verdict)


def _row(judged: Judged) -> str:
    case = judged.case
    return " | ".join(
        [
            f"| {case['source']}",
            case["reported"],
            _device(case),
            f"{case['outcome']}: {case['happened']}",
            " or ".join(case["expected"].get("codes", ())) or "no error",
            ", ".join(judged.codes) or "no error",
            f"{judged.verdict}{_first(judged)} |",
        ]
    )


def _first(judged: Judged) -> str:
    """Return what a report got at its first trial, where that was something else."""
    first = judged.case.get("first", judged.verdict)
    return "" if first == judged.verdict else f" (first {first})"


def _device(case: Case) -> str:
    planned = case["config"].get("resources.accelerator", "")
    if not case["gpu"]:
        return f"not said; `{planned}`"
    return f"{case['gpu']}; `{planned}`" if "planned_as" in case else case["gpu"]


def _as_json(judged: Sequence[Judged]) -> dict[str, Any]:
    count = Counter(each.verdict for each in judged)
    return {
        "cases": len(judged),
        **{f"cases_{verdict}": count[verdict] for verdict in Verdict},
        "not_foreseen": [each.case["id"] for each in unforeseen(judged)],
    }


if __name__ == "__main__":
    raise SystemExit(main())

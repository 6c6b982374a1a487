"""What the explainer says of logs that people reported in public: a table of `docs/checks.md`.

    python benchmarks/public_failures.py [--check] [--json]

Each case of `tests/domain/data/public_failures.jsonl` holds the end of a log as it was printed,
and the answer that it deserves, written down before the first trial: who has to act, and at which
setting. Exit 1 where a verdict is silent or wrong; with `--check`, which writes nothing, also where
the table is stale.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.public_cases import PAGE, Verdict
from controlplane.domain.failures import Failure
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.explain import explain
from controlplane.domain.failures.registry.build import CRASHED
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.engine_log import guess_log

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests/domain/data/public_failures.jsonl"
_MARKS = ("<!-- public failures: begin -->", "<!-- public failures: end -->")
_GUESS = "EHG-"
_BUILD = "build"
"""A step of a build in place of an engine."""
_SAYS_NOTHING = frozenset({CRASHED.code, "EVL-ENGINE-ENDED", "ETR-CRASHED"})

Case = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Told:
    """A case, and what the explainer said."""

    case: Case
    verdict: Verdict
    failure: Failure | None


def main() -> int:
    """Write the table, or say whether it is fresh and every log is explained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures = [tell(each) for each in cases()]
    if args.json:
        print(json.dumps(dict(Counter(each.verdict.value for each in figures))))
    text = page(PAGE.read_text(), figures)
    if not args.check:
        PAGE.write_text(text)
    return 0 if PAGE.read_text() == text and not unexplained(figures) else 1


def cases() -> list[Case]:
    """Return the reported logs, one a line of the file."""
    return [json.loads(line) for line in CASES.read_text().splitlines()]


def unexplained(told: Sequence[Told]) -> list[Told]:
    """Return those that the explainer was silent about, or wrong."""
    return [each for each in told if each.verdict in (Verdict.SILENT, Verdict.WRONG)]


def tell(case: Case) -> Told:
    """Return what the explainer says of a log, and how that compares with what it deserves."""
    failure = _explained(case)
    return Told(case=case, verdict=_verdict(case["expected"], failure), failure=failure)


def _explained(case: Case) -> Failure | None:
    log, spec = f"INFO starting\n{case['log']}\n", case["config"]
    if case["engine"] == _BUILD:
        step = CrashEvidence(subject="Step `calibrate`", exit_code=1, log_tail=log, spec=spec)
        return explain(step)
    return RUNTIMES[case["engine"]].failures.explain(log, spec) or guess_log(log, spec)


def _verdict(expected: Mapping[str, Any], failure: Failure | None) -> Verdict:
    """Return right for blame and setting, partly for one of them or a guess."""
    if failure is None or failure.code in _SAYS_NOTHING:
        return Verdict.SILENT
    has_blame = failure.blame.value in expected["blame"]
    has_field = failure.field in expected["fields"]
    if failure.code.startswith(_GUESS):
        return Verdict.PARTLY
    if has_blame and has_field:
        return Verdict.RIGHT
    return Verdict.PARTLY if has_blame or has_field else Verdict.WRONG


def page(text: str, told: Sequence[Told]) -> str:
    """Return the page with the table of these cases between its marks."""
    begin, end = (re.escape(mark) for mark in _MARKS)
    table = "\n".join([_MARKS[0], "", *_lines(told), "", _MARKS[1]])
    outcome, replaced = re.subn(f"{begin}.*?{end}", lambda _: table, text, flags=re.DOTALL)
    if replaced != 1:
        raise SystemExit(f"{PAGE} has no one place for the table: {' … '.join(_MARKS)}")
    return outcome


def _lines(told: Sequence[Told]) -> Iterator[str]:
    yield f"{len(told)} logs: {_counted([each.verdict for each in told])}."
    for number in sorted({each.case["round"] for each in told}):
        first = [Verdict(each.case["first"]) for each in told if each.case["round"] == number]
        yield f"Round {number}, {len(first)} logs, at the first trial: {_counted(first)}."
    yield ""
    yield "| report | of | about | what happened | to change | at | told as | verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (_row(each) for each in told)


def _counted(verdicts: Sequence[Verdict]) -> str:
    count = Counter(verdicts)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in Verdict)


def _row(told: Told) -> str:
    case, expected = told.case, told.case["expected"]
    first = case["first"]
    return " | ".join(
        [
            f"| {case['source']}",
            case["reported"],
            case["kind"],
            case["happened"],
            " or ".join(expected["blame"]),
            " or ".join(f"`{each}`" if each else "no setting" for each in expected["fields"]),
            told.failure.code if told.failure else "nothing",
            f"{told.verdict}{'' if first == told.verdict else f' (first {first})'} |",
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())

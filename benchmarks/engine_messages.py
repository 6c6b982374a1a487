"""What engines refuse, by their own sources, and who here knows it: a table of `docs/checks.md`.

    python benchmarks/engine_messages.py --sources FOLDER [--uncovered] [--json]

`FOLDER` holds one folder a release, `vllm-0.33.0/vllm`, as a wheel unpacks. Every `raise` and
`assert` with a message in the modules that meet settings, files or hardware is one of: decided by a
rule before the fetch, explained by a pattern, told by its family, guessed at, or nobody's. Those of
a single request and of the library's own slips are counted and left out. Without `--sources` the
kept result is written into the page. Exit 1 where one is nobody's.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.engine_messages_parts.decided_before import codes_of
from benchmarks.engine_messages_parts.messages import (
    Message,
    filled_in,
    messages_in,
    words_needed,
)
from benchmarks.engine_messages_parts.scope import is_a_slip, is_of_a_request, is_read
from controlplane.domain.failures.guesses.areas import area_of
from controlplane.domain.failures.guesses.last_exception import LastException
from controlplane.domain.failures.guesses.refusals import family_of
from controlplane.domain.failures.patterns.table import PATTERNS
from controlplane.domain.runtimes import RUNTIMES

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks/results/engine_messages-2026-11-30.json"
PAGE = ROOT / "docs/checks.md"
_MARKS = ("<!-- engine messages: begin -->", "<!-- engine messages: end -->")
_VALUES = ("7", "word", "float16", "8.0")
"""What stands for a value: a pattern may ask for a number, a name or a type."""


class Known(StrEnum):
    """Who knows a message."""

    RULE = "rule"
    PATTERN = "pattern"
    FAMILY = "family"
    GUESS = "guess"
    NOBODY = "nobody"
    REQUEST = "request"
    SLIP = "slip"


def main() -> int:
    """Sweep the sources, or write the table of the kept sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--uncovered", action="store_true", help="list guesses and nobody's")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.sources:
        RESULT.write_text(f"{json.dumps(sweep(args.sources, listing=args.uncovered), indent=1)}\n")
    kept = json.loads(RESULT.read_text())
    if args.json:
        print(json.dumps(kept))
    PAGE.write_text(page(PAGE.read_text(), kept))
    return 1 if any(counts[Known.NOBODY] for counts in kept["releases"].values()) else 0


def sweep(sources: Path, *, listing: bool = False) -> dict[str, Any]:
    """Return how many messages of each release are known, and by whom."""
    releases = {}
    for library in sorted(path for path in sources.glob("*/*") if path.is_dir()):
        rows = [(known(each), each) for each in messages_in(library) if is_read(each.path)]
        if rows:
            count = Counter(who for who, _ in rows)
            releases[library.parent.name] = {who.value: count[who] for who in Known}
        if listing:
            _list(rows)
    return {"checked": "2026-11-30", "releases": releases}


def _list(found: Sequence[tuple[Known, Message]]) -> None:
    for who, each in found:
        if who in (Known.GUESS, Known.NOBODY):
            print(f"{who}\t{each.path}:{each.line}\t{each.kind}: {each.text[:200]}")


def known(message: Message) -> Known:
    """Return who knows a message, the surest first."""
    if codes_of(message.text):
        return Known.RULE
    if _is_in_a_pattern(message.kind, message.text):
        return Known.PATTERN
    if is_of_a_request(message.path):
        return Known.REQUEST
    if is_a_slip(message.path, message.kind, message.text):
        return Known.SLIP
    statement = filled_in(message.text, _VALUES[0])
    error = LastException(kind=message.kind, message=statement, paths=(f"/{message.path}",))
    if family_of(error):
        return Known.FAMILY
    return Known.GUESS if area_of(error.paths) else Known.NOBODY


@cache
def _is_in_a_pattern(kind: str, text: str) -> bool:
    """Return whether a pattern finds the message; releases share most of theirs."""
    filled = "\n".join(f"{kind}: {filled_in(text, value)}" for value in _VALUES)
    return any(words in filled and expression.search(filled) for words, expression in _patterns())


@cache
def _patterns() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return every expression behind the words that a text must have for it to match."""
    engines = (each for runtime in RUNTIMES.values() for each in runtime.failures.LOG_PATTERNS)
    expressions = (each.expression for each in (*engines, *PATTERNS) if each.expression)
    return tuple((words_needed(each.pattern), each) for each in expressions)


def page(text: str, kept: Mapping[str, Any]) -> str:
    """Return the page with the table of this sweep between its marks."""
    begin, end = (re.escape(mark) for mark in _MARKS)
    table = "\n".join([_MARKS[0], "", *_lines(kept), "", _MARKS[1]])
    outcome, replaced = re.subn(f"{begin}.*?{end}", lambda _: table, text, flags=re.DOTALL)
    if replaced != 1:
        raise SystemExit(f"{PAGE} has no one place for the table: {' … '.join(_MARKS)}")
    return outcome


def _lines(kept: Mapping[str, Any]) -> Iterator[str]:
    yield "| release | rule, before | pattern | family | guess | nobody | of a request | slips |"
    yield "|---|---|---|---|---|---|---|---|"
    for release, counts in kept["releases"].items():
        cells = " | ".join(f"{counts[who.value]:,}" for who in Known)
        yield f"| {release.replace('-', ' ')} | {cells} |"


if __name__ == "__main__":
    raise SystemExit(main())

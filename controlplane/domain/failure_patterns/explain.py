"""Evidence -> failure: the pattern that speaks last, else how it ended, else that nobody knows."""

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.failure_patterns.crash_evidence import CrashEvidence
from controlplane.domain.failure_patterns.pattern import Pattern
from controlplane.domain.failure_patterns.table import PATTERNS
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.redaction import Redactor

UNKNREMOTE_CODE = "EHB-CRASHED"
_DETAIL_LINES = 30
_LONGEST_DETAIL_LINE = 600
_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = re.compile(
    r"(?:The above exception was the direct cause of the following exception|"
    r"During handling of the above exception, another exception occurred):\s*\Z"
)
_COUNTS = frozenset({"bytes", "expected", "found"})
_LOOKS_SECRET = Redactor()


@dataclass(frozen=True, kw_only=True)
class _Found:
    """Where a pattern matched last."""

    pattern: Pattern
    match: re.Match[str]


def explain(evidence: CrashEvidence) -> Failure:
    """Return the failure that the remains point to.

    1. In the last traceback and what follows it, the words that stand last win: of a chain of
       exceptions the last one ended the process, and what was printed earlier was survived.
    2. Some libraries print the reason ahead of an exception that says little.
    3. Where no words are known, the signal or the kernel's count may tell.
    """
    text = evidence.log_tail
    start = _last_traceback(text)
    found = _last(PATTERNS, text[start:]) or _last(
        (each for each in PATTERNS if each.stands_before_traceback), text[:start]
    )
    if found is not None:
        groups = {name: _word(name, value) for name, value in found.match.groupdict().items()}
        line = _line_at(found.match.string, found.match.start())
        return _failure(found.pattern, evidence, groups, line)
    for pattern in PATTERNS:
        if pattern.ending and pattern.ending(evidence):
            return _failure(pattern, evidence, {}, _last_lines(text))
    return _unknown(evidence)


def _last(patterns: Iterable[Pattern], text: str) -> _Found | None:
    """Return the match that begins last; of two at one place, the one of the earlier pattern."""
    best: _Found | None = None
    for pattern in patterns:
        match = pattern.last_match(text)
        if match and (best is None or match.start() > best.match.start()):
            best = _Found(pattern=pattern, match=match)
    return best


def _last_traceback(text: str) -> int:
    """Return where the last chain of tracebacks begins, 0 where there is none."""
    start = text.rfind(_TRACEBACK)
    while start > 0 and _CHAINED.search(text, max(0, start - 200), start):
        earlier = text.rfind(_TRACEBACK, 0, start)
        if earlier < 0:
            return 0
        start = earlier
    return max(start, 0)


def _failure(
    pattern: Pattern, evidence: CrashEvidence, groups: dict[str, str], detail: str | None
) -> Failure:
    words = evidence.words | groups
    return Failure(
        code=pattern.code,
        blame=pattern.blame,
        sentence=_LOOKS_SECRET.text(pattern.say(words)),
        field=pattern.field,
        hint=pattern.hint.format_map(words),
        fix=pattern.fix(evidence) if pattern.fix else None,
        detail=detail,
    )


def _word(name: str, value: str | None) -> str:
    """Return what a group matched, as a sentence has it."""
    return f"{int(value):,}" if value and name in _COUNTS else value or ""


def _unknown(evidence: CrashEvidence) -> Failure:
    return Failure(
        code=UNKNREMOTE_CODE,
        blame=Blame.OURS,
        sentence=f"{evidence.subject} {_ending(evidence.exit_code)}, and what it printed is no "
        "failure that is known here.",
        hint="The last lines of its log are below. Retry; if it persists, download the support "
        "bundle and report it.",
        detail=_last_lines(evidence.log_tail),
    )


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with status {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)].strip()
    return _LOOKS_SECRET.text(line)[:_LONGEST_DETAIL_LINE]


def _last_lines(text: str) -> str | None:
    lines = text.strip().splitlines()[-_DETAIL_LINES:]
    return _LOOKS_SECRET.text("\n".join(lines)) or None

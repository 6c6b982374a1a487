"""The one way in which words of a log are found and told."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Failure
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.redaction import Redactor

_LONGEST_LINE = 600
_COUNTS = frozenset({"bytes", "expected", "found"})
LOOKS_SECRET = Redactor()


@dataclass(frozen=True, kw_only=True)
class LastMatch:
    pattern: Pattern
    match: re.Match[str]

    def failure(self, evidence: CrashEvidence) -> Failure:
        groups = {name: _word(name, value) for name, value in self.match.groupdict().items()}
        line = _line_at(self.match.string, self.match.start())
        return failure_of(self.pattern, evidence, groups, line)


def last_match(patterns: Iterable[Pattern], text: str) -> LastMatch | None:
    """Return the match that begins last; of two at one place, the one of the earlier pattern."""
    best: LastMatch | None = None
    for pattern in patterns:
        match = pattern.last_match(text)
        if match and (best is None or match.start() > best.match.start()):
            best = LastMatch(pattern=pattern, match=match)
    return best


def failure_of(
    pattern: Pattern, evidence: CrashEvidence, groups: dict[str, str], detail: str | None
) -> Failure:
    fix = pattern.fix_for(evidence) if pattern.fix_for else None
    failure = pattern.failure(fix=fix, detail=detail, **(evidence.words | groups))
    return replace(failure, sentence=LOOKS_SECRET.text(failure.sentence))


def _word(name: str, value: str | None) -> str:
    return f"{int(value):,}" if value and name in _COUNTS else value or ""


def _line_at(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)].strip()
    return LOOKS_SECRET.text(line)[:_LONGEST_LINE]

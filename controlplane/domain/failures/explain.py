"""Evidence -> failure: the pattern that speaks last, else how it ended, else a guess, else none."""

import re
import signal

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Failure
from controlplane.domain.failures.guesses import guessed
from controlplane.domain.failures.guesses.last_exception import last_exception
from controlplane.domain.failures.matching import LOOKS_SECRET, failure_of, last_match
from controlplane.domain.failures.patterns.table import PATTERNS
from controlplane.domain.failures.registry.build import CRASHED

_DETAIL_LINES = 30
_LONGEST_MESSAGE = 300
_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = re.compile(
    r"(?:The above exception was the direct cause of the following exception|"
    r"During handling of the above exception, another exception occurred):\s*\Z"
)


def explain(evidence: CrashEvidence) -> Failure:
    """Return the failure that the evidence points to.

    1. In the last traceback and what follows it, the words that stand last win: of a chain of
       exceptions the last one ended the process, and what was printed earlier was survived.
    2. Some libraries print the reason ahead of an exception that says little.
    3. Where no words are known, the signal or the kernel's count may tell.
    4. The last exception's place and the settings that it names are a guess, and said to be one.
    """
    text = evidence.log_tail
    start = _last_traceback(text)
    ahead = (each for each in PATTERNS if each.stands_before_traceback)
    explanation = last_match(PATTERNS, text[start:]) or last_match(ahead, text[:start])
    if explanation is not None:
        return explanation.failure(evidence)
    for pattern in PATTERNS:
        if pattern.ending and pattern.ending(evidence):
            return failure_of(pattern, evidence, {}, _last_lines(text))
    return guessed(evidence) or _unknown(evidence)


def _last_traceback(text: str) -> int:
    """Return where the last chain of tracebacks begins, 0 where there is none."""
    start = text.rfind(_TRACEBACK)
    while start > 0 and _CHAINED.search(text, max(0, start - 200), start):
        earlier = text.rfind(_TRACEBACK, 0, start)
        if earlier < 0:
            return 0
        start = earlier
    return max(start, 0)


def _unknown(evidence: CrashEvidence) -> Failure:
    return CRASHED.failure(
        subject=evidence.subject,
        ending=_ending(evidence.exit_code),
        raised=_raised(evidence.log_tail),
        detail=_last_lines(evidence.log_tail),
    )


def _raised(text: str) -> str:
    error = last_exception(text)
    return f" after “{LOOKS_SECRET.text(error.sentence)[:_LONGEST_MESSAGE]}”" if error else ""


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with status {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"


def _last_lines(text: str) -> str | None:
    lines = text.strip().splitlines()[-_DETAIL_LINES:]
    return LOOKS_SECRET.text("\n".join(lines)) or None

"""Why a process ended without saying so, read from its exit status and last lines."""

import re
import signal
from dataclasses import dataclass

from controlplane.domain.failures import Blame, Failure

_DETAIL_LINES = 30


@dataclass(frozen=True, kw_only=True)
class _Pattern:
    """Words that a dying process leaves, and what they mean."""

    words: re.Pattern[str]
    code: str
    sentence: str
    hint: str


_PATTERNS = (
    _Pattern(
        words=re.compile(r"No space left on device|Disk quota exceeded|\[Errno 27\]"),
        code="EHB-DISK-FULL",
        sentence="{subject} ran out of disk.",
        hint="Free some space on the disk that holds DATA_DIR and retry.",
    ),
    _Pattern(
        words=re.compile(r"MemoryError|bad_alloc|Cannot allocate memory|can't allocate memory"),
        code="EHB-OUT-OF-MEMORY",
        sentence="{subject} asked for more memory than this machine has.",
        hint="Free memory on the build machine, or build on a larger one, and retry.",
    ),
)


def explain_crash(subject: str, exit_code: int, last_lines: str) -> Failure:
    """Return the failure that the remains of a process point to; `subject` opens its sentence."""
    detail = "\n".join(last_lines.strip().splitlines()[-_DETAIL_LINES:]) or None
    for pattern in _PATTERNS:
        if pattern.words.search(last_lines):
            return Failure(
                code=pattern.code,
                blame=Blame.MACHINE,
                sentence=pattern.sentence.format(subject=subject),
                hint=pattern.hint,
                detail=detail,
            )
    if exit_code == -signal.SIGKILL:
        return Failure(
            code="EHB-KILLED",
            blame=Blame.MACHINE,
            sentence=f"{subject} was killed from outside (SIGKILL).",
            hint="Mostly the kernel does this when the machine runs out of memory: look at its "
            "log (`dmesg`), free memory and retry.",
            detail=detail,
        )
    return Failure(
        code="EHB-CRASHED",
        blame=Blame.OURS,
        sentence=f"{subject} {_ending(exit_code)} without saying why.",
        hint="The last lines of its log are below; retry, and report it if it persists.",
        detail=detail,
    )


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with status {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by signal {-exit_code}"

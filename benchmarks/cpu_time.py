"""CPU time of other processes to the nanosecond, which the kernel's usual ticks do not give."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_WHAT_IS_SCHEDULED = 2
"""Of a process's clocks, the one that counts nanoseconds; with those of threads that have ended."""


def of_process(pid: int) -> float:
    """Return the seconds that its threads have computed, also those that have ended."""
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | _WHAT_IS_SCHEDULED)
    return 0


def of_descendants(pid: int) -> float:
    """Return the same of all that it has started, and of what those have."""
    return sum(map(of_process, _descendants(pid)))


def _descendants(pid: int) -> Iterator[int]:
    for thread in _threads(pid):
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from _descendants(int(child))


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []

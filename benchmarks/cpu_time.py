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


class Listed:
    """What a process has started, listed before it is measured.

    Listing takes 5 ms of the processor, and leaves none of the caches to what comes next.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._known: tuple[int, ...] = tuple(_descendants(pid))

    def seconds(self) -> float:
        """Return what those have computed that were there when they were listed."""
        return sum(map(of_process, self._known))

    def list_again(self) -> float:
        """Return what those have computed that came since."""
        before, self._known = self._known, tuple(_descendants(self._pid))
        return sum(of_process(each) for each in self._known if each not in before)


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

"""CPU time of other processes to the nanosecond, which the kernel's usual ticks do not give."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def of_process(pid: int) -> float:
    """Return the seconds that its living threads have computed."""
    return sum(_nanoseconds(thread) for thread in _threads(pid)) / 1e9


def of_descendants(pid: int) -> float:
    """Return the same of all that it has started, and of what those have."""
    return sum(map(of_process, _descendants(pid)))


def _nanoseconds(thread: Path) -> int:
    with suppress(OSError):
        return int((thread / "schedstat").read_text().split()[0])
    return 0


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

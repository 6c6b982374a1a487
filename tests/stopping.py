"""Stops processes at random for a few milliseconds, and lets none stay so, whatever happens."""

import ctypes
import os
import random
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import psutil

from controlplane.clock import SYSTEM, Clock

LONGEST_STOP_SECONDS = 0.08
MOST_AT_ONCE = 3
_AT_WORK = {psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING}
_SUBREAPER = 36
_SIGSTOP_BIT = 1 << (signal.SIGSTOP - 1)


def adopt_orphans() -> None:
    """Become the parent of whom those below us leave behind: they stay among our descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


class Stopper:
    """Stops some of the processes that it is shown, and continues them."""

    def __init__(self, choice: random.Random, *, clock: Clock = SYSTEM) -> None:
        self.stops = 0
        self._choice = choice
        self._clock = clock
        self._guard = _Guard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._guard.close()

    @property
    def own(self) -> Collection[int]:
        """Processes that nobody may stop."""
        return (os.getpid(), self._guard.pid)

    def stop_some(self, processes: Iterable[psutil.Process]) -> None:
        """Stop a few of them for a moment; none that is stopped already, by its test."""
        able = [each for each in processes if each.pid not in self.own]
        chosen = self._choice.sample(able, min(len(able), self._choice.randint(1, MOST_AT_ONCE)))
        stopped = [each for each in chosen if self._stop(each)]
        try:
            self._clock.sleep(self._choice.uniform(0, LONGEST_STOP_SECONDS))
        finally:
            for each in stopped:
                self._go_on(each)

    def _stop(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            if process.status() in _AT_WORK:
                self._guard.tell("+", process.pid)
                process.suspend()
                self.stops += 1
                return True
        return False

    def _go_on(self, process: psutil.Process) -> None:
        with suppress(psutil.Error):
            if not _is_stopped_by_its_test(process.pid):
                process.resume()
        self._guard.tell("-", process.pid)


def _is_stopped_by_its_test(pid: int) -> bool:
    """Whether another stop has come since ours; it waits behind it, and to go on would lose it.

    One that waits while the process does not stand still yet is ours.
    """
    with suppress(OSError):
        values = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        waiting = int(values["ShdPnd"], 16) & _SIGSTOP_BIT
        return bool(waiting) and values["State"].split()[0] == "T"
    return False


class _Guard:
    """A process that outlives this one by as much as it takes to continue whom it has stopped."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stopping"],
            cwd=Path(__file__).resolve().parents[1],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def tell(self, what: str, pid: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}{pid}\n".encode())
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def guard(told: IO[str]) -> None:
    """Read who is stopped and who goes on; at the end continue the rest."""
    stopped: set[int] = set()
    for line in told:
        (stopped.add if line[0] == "+" else stopped.discard)(int(line[1:]))
    for pid in stopped:
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    guard(sys.stdin)

"""How long an engine is waited for: only time in which the agent itself looked counts."""

import os
from dataclasses import dataclass
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from workers.agent.folders import ReplicaFolder
from workers.agent.identity import is_stopped
from workers.agent.reaping import marked_processes

LONGEST_STEP_SECONDS = 5.0
MEASURE_SECONDS = 10.0
_LEAST_SHARE_OF_A_CORE = 0.05
_LEAST_READ_BYTES = 1_000_000
_USER_FIELD, _SYSTEM_FIELD = 11, 12  # counted after the name, as in identity.py
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class LookedTime:
    """Seconds that pass while someone looks; of a longer pause of the looker, only the first few.

    An agent that was stopped, or waited for its control plane, has not seen what an engine did.
    """

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._looked_at = clock.monotonic()
        self.seconds = 0.0

    def look(self) -> None:
        """Count what has passed since the last look."""
        now = self._clock.monotonic()
        self.seconds += min(now - self._looked_at, LONGEST_STEP_SECONDS)
        self._looked_at = now


@dataclass(frozen=True, kw_only=True)
class _Doing:
    log_bytes: int
    processor_seconds: float
    read_bytes: int


class Progress:
    """Whether an engine that loads gets on: it logs, computes or reads."""

    def __init__(self, folder: ReplicaFolder, time: LookedTime) -> None:
        self._folder = folder
        self._time = time
        self._last = _doing(folder)
        self._measured_at = self._got_on_at = time.seconds

    @property
    def still_seconds(self) -> float:
        return self._time.seconds - self._got_on_at

    def look(self) -> None:
        """Measure, if it is time."""
        passed = self._time.seconds - self._measured_at
        if passed < MEASURE_SECONDS:
            return
        before, self._last = self._last, _doing(self._folder)
        self._measured_at = self._time.seconds
        if _is_progress(before, self._last, passed) or somebody_stopped_it(self._folder):
            self._got_on_at = self._time.seconds


def somebody_stopped_it(folder: ReplicaFolder) -> bool:
    """Return whether a process of the replica stands still by a signal: it goes on where it was."""
    return any(map(is_stopped, marked_processes(folder)))


def _is_progress(before: _Doing, now: _Doing, seconds: float) -> bool:
    computed = now.processor_seconds - before.processor_seconds
    return (
        now.log_bytes != before.log_bytes
        # Less than before: of several processes one has ended, which is progress too.
        or not 0 <= computed < _LEAST_SHARE_OF_A_CORE * seconds
        or now.read_bytes - before.read_bytes >= _LEAST_READ_BYTES
    )


def _doing(folder: ReplicaFolder) -> _Doing:
    processes = [Path(f"/proc/{pid}") for pid in marked_processes(folder)]
    return _Doing(
        log_bytes=folder.log.stat().st_size if folder.log.exists() else 0,
        processor_seconds=sum(map(_processor_seconds, processes)),
        read_bytes=sum(map(_read_bytes, processes)),
    )


def _processor_seconds(process: Path) -> float:
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / _TICKS_A_SECOND


def _read_bytes(process: Path) -> int:
    """Return what it has read: by calls, or by touching files that it has mapped."""
    try:
        lines = (process / "io").read_text().splitlines()
    except OSError:  # it has ended, or is not ours to look at
        return 0
    counters = dict(line.split(": ") for line in lines)
    return max(int(counters["rchar"]), int(counters["read_bytes"]))

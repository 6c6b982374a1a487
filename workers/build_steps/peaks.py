"""The most memory that the processes of one step held, as their supervisor sees it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from resource import struct_rusage

from controlplane.clock import SYSTEM, Clock
from workers.build_steps.device_memory import DeviceMemory
from workers.build_steps.processes import Process, living_of_session, memory_of

_PAUSE_SECONDS = 0.25
_KIB = 1024


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """Bytes at their highest; None where nobody could measure."""

    seconds: float = 0.0
    """From the start of the first process."""
    host_bytes: int | None = None
    """Resident memory of all processes of the step together, mapped files included."""
    device_bytes: int | None = None
    """Of all GPUs together, as NVML counts it."""


class PeakMeter:
    """Looks at the processes of a session now and then, and keeps what was highest.

    What rises and falls between two looks is caught for each process by the kernel's own high-water
    mark, which the first process also tells at its end; if it could not, by what `wait4` tells.
    """

    def __init__(self, session: int, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._session = session
        self._host = 0
        self._devices = DeviceMemory()
        self._looked_at = float("-inf")
        self._started_at = self._clock.monotonic()
        # The kernel counts the parent's memory, shared until exec, as the child's own peak.
        self._inherited = memory_of(os.getpid()).get("VmHWM", 0)

    def look(self) -> None:
        """Take a sample where the last one is old enough."""
        if self._clock.monotonic() - self._looked_at < _PAUSE_SECONDS:
            return
        self._looked_at = self._clock.monotonic()
        living = living_of_session(self._session)
        self._host = max(self._host, _resident_bytes(living))
        self._devices.look({each.pid for each in living})

    def take_usage(self, usage: struct_rusage) -> None:
        """Take what `wait4` told of the first process."""
        own = int(usage.ru_maxrss) * _KIB
        if own > self._inherited:
            self._host = max(self._host, own)

    def take_own(self, held_bytes: int | None) -> None:
        self._host = max(self._host, held_bytes or 0)

    def peaks(self) -> Peaks:
        return Peaks(
            seconds=self._clock.monotonic() - self._started_at,
            host_bytes=self._host or None,
            device_bytes=self._devices.peak_bytes,
        )


def _resident_bytes(processes: Iterable[Process]) -> int:
    """Return the larger of what all hold now and of what one of them ever held."""
    states = [memory_of(each.pid) for each in processes]
    now = sum(each.get("VmRSS", 0) for each in states)
    return max([now, *(each.get("VmHWM", 0) for each in states)])

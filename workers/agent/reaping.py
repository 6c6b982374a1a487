"""Processes whose runner is gone: found by the marker in their environment, and killed."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from workers.agent.folders import INSTANCE_VARIABLE, LEASE_VARIABLE, ReplicaFolder
from workers.agent.identity import identity_of, send_signal

_PREFIX = "replica/"
_NAMES = (LEASE_VARIABLE.encode(), INSTANCE_VARIABLE.encode())


def reap_orphans(is_live: Callable[[str], bool], *, instance: str) -> list[str]:
    """Return the markers of the processes of this instance that were killed.

    `is_live` says of a marker whether a runner stands behind it.
    """
    return [
        marker
        for pid, marker, of_instance in _marked()
        if of_instance == instance and not is_live(marker) and _kill(pid)
    ]


def kill_marked(
    folder: ReplicaFolder, *, timeout_seconds: float = 1.0, clock: Clock = SYSTEM
) -> bool:
    """Kill every process of the replica; return whether none is left."""
    deadline = clock.monotonic() + timeout_seconds
    # Again until a look finds none: one that was killed late may have started another.
    while pids := marked_processes(folder):
        for pid in pids:
            _kill(pid)
        if clock.monotonic() > deadline:
            return False
        clock.sleep(0.01)
    return True


def marked_processes(folder: ReplicaFolder) -> list[int]:
    own_marks = (folder.marker, folder.instance)
    return [pid for pid, *marks in _marked() if tuple(marks) == own_marks]


def _kill(pid: int) -> bool:
    identity = identity_of(pid)
    return identity is not None and pid != os.getpid() and send_signal(identity, signal.SIGKILL)


def _marked() -> Iterator[tuple[int, str, str]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        marks = _marks_of(entry)
        marker = marks.get(LEASE_VARIABLE, "")
        if marker.startswith(_PREFIX):
            yield int(entry.name), marker, marks.get(INSTANCE_VARIABLE, "")


def _marks_of(process: Path) -> dict[str, str]:
    try:
        environment = (process / "environ").read_bytes()
    except OSError:  # it has ended, or is not ours to read
        return {}
    pairs = (each.partition(b"=") for each in environment.split(b"\0"))
    return {name.decode(): os.fsdecode(value) for name, _, value in pairs if name in _NAMES}

"""Processes as /proc tells of them, and signals that cannot hit a reused pid."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO

from controlplane.clock import SYSTEM, Clock

LEASE_VARIABLE = "ENGINEHOUSE_LEASE"
INSTANCE_VARIABLE = "ENGINEHOUSE_INSTANCE"
"""Which installation a process belongs to: two may share a machine."""

_PROC = "/proc"
_SIZES = ("VmHWM:", "VmRSS:")
_KIB = 1024


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process; pid and start ticks together are never used twice."""

    pid: int
    parent: int
    session: int
    start_ticks: int
    ended: bool
    """A zombie, or on its way to be one."""


def processes() -> Iterator[Process]:
    for pid in _pids():
        if each := process(pid):
            yield each


def processes_marked(entry: str) -> Iterator[Process]:
    """Return the processes with these words in their environment, often none of a whole machine.

    Who has them may have passed its pid on since: its caller asks the one found for its own.
    """
    words = os.fsencode(entry)
    for pid in _pids():
        if words in _read(pid, "environ") and (each := process(pid)):
            yield each


def process(pid: int) -> Process | None:
    # The second field is the name in brackets and may hold anything: count from its end.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    if not fields:
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        ended=fields[0] in (b"Z", b"X"),
    )


def environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty when it may not be read."""
    pairs = (entry.partition(b"=") for entry in _read(pid, "environ").split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def is_marked(pid: int, marks: Mapping[str, str]) -> bool:
    """Return whether a process was started with these variables in its environment.

    Few of a machine are, and to take the environment of each apart takes longer than to read it.
    """
    entries = [os.fsencode(f"{name}={value}") for name, value in marks.items()]
    given = _read(pid, "environ")
    return all(each in given for each in entries) and {*entries} <= {*given.split(b"\0")}


def memory_of(pid: int) -> dict[str, int]:
    """Return a process's `VmRSS` and `VmHWM` in bytes; empty when it is gone."""
    status = _read(pid, "status").decode(errors="replace")
    sizes = (line.split() for line in status.splitlines() if line.startswith(_SIZES))
    return {name.rstrip(":"): int(size) * _KIB for name, size, _unit in sizes}


def send(target: Process, number: signal.Signals) -> None:
    """Signal that very process; do nothing when it is gone, also when its pid lives on."""
    try:
        descriptor = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return
    try:
        # The descriptor stays with one process: if it is the one meant, the signal arrives there.
        now = process(target.pid)
        if now is not None and now.start_ticks == target.start_ticks:
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def of_session(session: int) -> Callable[[Process], bool]:
    return lambda each: each.session == session


def of_step(session: int, *, lease: str, instance: str) -> Callable[[Process], bool]:
    """Return the test for a process of a session, or with the step's marks in another session.

    Both marks: what another installation of this machine calls the same lease is not ours.
    """

    marks = {LEASE_VARIABLE: lease, INSTANCE_VARIABLE: instance}
    return lambda each: each.session == session or is_marked(each.pid, marks)


def living(test: Callable[[Process], bool]) -> list[Process]:
    """Return the processes that pass the test and run, never the caller itself."""
    own = os.getpid()
    return [each for each in processes() if each.pid != own and not each.ended and test(each)]


def living_of_session(session: int) -> list[Process]:
    """Return the session's processes that run, never the caller itself.

    The kernel is asked for each process's session: to read what it tells of every process of a
    machine takes ten times as long.
    """
    own = os.getpid()
    candidates = (process(pid) for pid in _pids() if pid != own and _may_be_of(session, pid))
    return [each for each in candidates if each and each.session == session and not each.ended]


def _may_be_of(session: int, pid: int) -> bool:
    try:
        return os.getsid(pid) == session
    except ProcessLookupError:
        return False
    except PermissionError:  # a security module's word; /proc may still tell
        return True


def kill_all(
    test: Callable[[Process], bool], *, within_seconds: float = 3.0, clock: Clock = SYSTEM
) -> bool:
    """Kill what passes the test, also what it starts meanwhile; return whether all is gone."""
    deadline = clock.monotonic() + within_seconds
    while remaining := living(test):
        for each in remaining:
            send(each, signal.SIGKILL)
        if clock.monotonic() > deadline:
            return False
        clock.sleep(0.01)
    return True


def _pids() -> Iterator[int]:
    with os.scandir(_PROC) as entries:
        yield from [int(each.name) for each in entries if each.name.isdecimal()]


def _read(pid: int, name: str) -> bytes:
    """Return what /proc tells of a process; nothing when it is gone or may not be read.

    Without a path object and a buffer: every few seconds it is read of every process of a machine.
    """
    try:
        with FileIO(f"{_PROC}/{pid}/{name}") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""

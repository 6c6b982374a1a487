"""Processes as /proc tells of them, and signals that cannot hit a reused pid."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.clock import SYSTEM, Clock

LEASE_VARIABLE = "ENGINEHOUSE_LEASE"
INSTANCE_VARIABLE = "ENGINEHOUSE_INSTANCE"
"""Which installation a process belongs to: two may share a machine."""

_PROC = Path("/proc")
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
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and (each := process(int(entry.name))):
            yield each


def process(pid: int) -> Process | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in brackets and may hold anything: count from its end.
    fields = stat.rpartition(")")[2].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        ended=fields[0] in "ZX",
    )


def environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty when it may not be read."""
    pairs = (entry.partition(b"=") for entry in _environ(pid).split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def is_marked(pid: int, marks: Mapping[str, str]) -> bool:
    """Return whether a process was started with these variables in its environment.

    Few of a machine are, and to take the environment of each apart takes longer than to read it.
    """
    entries = [os.fsencode(f"{name}={value}") for name, value in marks.items()]
    given = _environ(pid)
    return all(each in given for each in entries) and {*entries} <= {*given.split(b"\0")}


def _environ(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def memory_of(pid: int) -> dict[str, int]:
    """Return a process's `VmRSS` and `VmHWM` in bytes; empty when it is gone."""
    try:
        status = (_PROC / str(pid) / "status").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
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
    pids = (int(each.name) for each in _PROC.iterdir() if each.name.isdecimal())
    candidates = (process(pid) for pid in pids if pid != own and _may_be_of(session, pid))
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

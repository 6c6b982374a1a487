"""Which process is meant: a number alone may by now be another's."""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STATE_FIELD, _START_FIELD = 0, 19  # counted after the name, which may hold spaces


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process, for as long as the machine runs and after."""

    boot_id: str
    pid: int
    start_ticks: int

    def to_json(self) -> dict[str, Any]:
        return {"boot_id": self.boot_id, "pid": self.pid, "start_ticks": self.start_ticks}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ProcessIdentity":
        return cls(
            boot_id=str(stored["boot_id"]),
            pid=int(stored["pid"]),
            start_ticks=int(stored["start_ticks"]),
        )


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identity_of(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process that runs now; a dead one that waits for its parent does
    not count.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[_STATE_FIELD] in "ZX":
        return None
    return ProcessIdentity(boot_id=boot_id(), pid=pid, start_ticks=int(fields[_START_FIELD]))


def is_stopped(pid: int) -> bool:
    """Return whether someone has stopped the process, as by SIGSTOP, so that it may go on."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[_STATE_FIELD] in "Tt"


def is_alive(identity: ProcessIdentity) -> bool:
    return identity_of(identity.pid) == identity


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Return whether the signal reached that very process."""
    try:
        handle = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        # The handle holds the number: it cannot become another's after this look.
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True

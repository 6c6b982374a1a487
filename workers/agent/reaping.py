"""Processes whose runner is gone: found by the marker in their environment, and killed."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from workers.agent.folders import LEASE_VARIABLE
from workers.agent.identity import identity_of, send_signal

_PREFIX = f"{LEASE_VARIABLE}=replica/".encode()


def reap_orphans(is_live: Callable[[str], bool | None]) -> list[str]:
    """Return the markers of the processes that were killed.

    `is_live` says of a marker whether a runner stands behind it, and None of a marker that it has
    never seen: that one belongs to another agent on this host.
    """
    killed = []
    for pid, marker in _marked():
        identity = identity_of(pid)
        if identity is None or pid == os.getpid() or is_live(marker) is not False:
            continue
        if send_signal(identity, signal.SIGKILL):
            killed.append(marker)
    return killed


def marked_processes(marker: str) -> list[int]:
    """Return the processes that carry this marker now."""
    return [pid for pid, found in _marked() if found == marker]


def _marked() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        marker = _marker_of(entry)
        if marker is not None:
            yield int(entry.name), marker


def _marker_of(process: Path) -> str | None:
    try:
        environment = (process / "environ").read_bytes()
    except OSError:
        return None
    for variable in environment.split(b"\0"):
        if variable.startswith(_PREFIX):
            return variable.partition(b"=")[2].decode(errors="replace")
    return None

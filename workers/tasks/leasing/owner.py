"""The name by which a process holds leases, and whether it still lives."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

_LONGEST_NODE_NAME = 60


def process_owner(node_name: str) -> str:
    """Return the name of this process, told apart from a later one with the same number."""
    pid = os.getpid()
    return f"{node_name[:_LONGEST_NODE_NAME]}/{_process_space()}/{pid}/{_start_ticks(pid)}"


def dead_owners(owners: Iterable[str]) -> list[str]:
    """Return the owners that lived where this process can see them, and no longer do.

    Owners on other hosts, or in other containers, are not ours to judge: their lease runs out.
    """
    return [owner for owner in owners if _is_dead(owner)]


def _is_dead(owner: str) -> bool:
    parts = owner.rsplit("/", 3)
    if len(parts) != 4 or parts[1] != _process_space() or not parts[2].isdecimal():
        return False
    return _start_ticks(int(parts[2])) != parts[3]


def _process_space() -> str:
    """Return a name of the running kernel and its process numbers that this process sees."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text()
    namespace = Path("/proc/self/ns/pid").readlink()
    return hashlib.sha256(f"{boot_id}{namespace}".encode()).hexdigest()[:16]


def _start_ticks(pid: int) -> str | None:
    """Return when the process started, or None where it is gone or dead and unburied."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The program's name stands in brackets and may hold anything.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]

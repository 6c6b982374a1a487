"""Processes whose lease is dead: their supervisor was killed and somebody else took over."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    process,
    processes_marked,
    send,
)

LEASE_PREFIX = "build/"


@dataclass(frozen=True, kw_only=True)
class Reaped:
    pid: int
    lease: str


def reap_orphans(is_live: Callable[[str], bool], *, instance: str) -> list[Reaped]:
    """Kill the build processes of this installation whose lease is not live; return them.

    `is_live` is asked once per lease, as it stands in ENGINEHOUSE_LEASE.
    """
    spared = _own_line()
    verdicts: dict[str, bool] = {}
    reaped = []
    for each in processes_marked(f"{INSTANCE_VARIABLE}={instance}"):
        if each.pid in spared or each.ended:
            continue
        marks = environment(each.pid)
        lease = marks.get(LEASE_VARIABLE, "")
        if marks.get(INSTANCE_VARIABLE) != instance or not lease.startswith(LEASE_PREFIX):
            continue
        if lease not in verdicts:
            verdicts[lease] = is_live(lease)
        if not verdicts[lease]:
            send(each, signal.SIGKILL)
            reaped.append(Reaped(pid=each.pid, lease=lease))
    return reaped


def _own_line() -> frozenset[int]:
    """Return this process and those above it."""
    line = {os.getpid()}
    above = process(os.getppid())
    while above is not None and above.pid not in line:
        line.add(above.pid)
        above = process(above.parent)
    return frozenset(line)

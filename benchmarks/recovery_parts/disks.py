"""Disks that fill up under an installation that serves, one after the other, and empty again."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.recovery_parts.faults import DISK, Cost, Fault, cost_while
from benchmarks.recovery_parts.serving import Serving, serving
from tests.small_disks import small_disk
from tests.waiting import wait_for
from workers.full_disk import FULL_BYTES

FOLDERS = {
    "gateway": "64m",
    "agent": "64m",
    "postgres": "300m",
    "valkey": "64m",
    "artifacts": "64m",
}
"""Below the data folder, each on a disk of its own, so large: they take memory."""
_PIECES = (1_000_000, 4096, 1)
_TOLD_BY = {
    "gateway": "SELECT min(disk_free_bytes) FROM fleet_gateway",
    "agent": "SELECT min(disk_free_bytes) FROM fleet_node",
}
"""What the overview goes by. The store's is told by `/readyz`, PostgreSQL's once a write met it."""


@contextmanager
def serving_from_small_disks(folder: Path, *, each_second: float) -> Iterator[Serving]:
    """Start it with each of `FOLDERS` on a small disk.

    Raises pytest's Skipped without the right to mount one.
    """
    with ExitStack() as disks:
        for name, size in FOLDERS.items():
            disks.enter_context(small_disk(folder / name, size=size))
        yield disks.enter_context(serving(folder, each_second=each_second))


def cost_of_full_disk(served: Serving, name: str, *, seconds: float) -> Cost:
    """Return what it costs that the disk below the folder of that name is full for so long."""
    fault = Fault(kind=f"{DISK} {name}", seconds=seconds)
    with ExitStack() as filled:

        def fill() -> None:
            filled.enter_context(_full(served.here.folder / name))
            time.sleep(seconds)
            wait_for(lambda: _is_told(served, name), what=f"a word of the full disk under {name}")
            filled.close()

        return cost_while(served, fault, fill)


def disks_told(served: Serving, names: Sequence[str], *, seconds: float) -> dict[str, Any]:
    """Return the figures of these disks, each full in its turn."""
    costs = {name: cost_of_full_disk(served, name, seconds=seconds) for name in names}
    every = [*costs.values()]
    return {
        "full_disk_true_seconds_max": max(cost.true_after_seconds for cost in every),
        "lost_by_full_disks": sum(cost.lost for cost in every),
        "doubled_by_full_disks": sum(cost.doubled or 0 for cost in every),
        "usage_difference_by_full_disks": sum(cost.usage_difference for cost in every),
        "engines_replaced_by_full_disks": sum(cost.engines_replaced for cost in every),
        "full_disks": {name: cost.to_json() for name, cost in costs.items()},
    }


def measured(folder: Path, *, each_second: float, seconds: float) -> dict[str, Any]:
    """Return the figures, none of them without the right to mount a small disk."""
    with (
        suppress(pytest.skip.Exception),
        serving_from_small_disks(folder, each_second=each_second) as served,
    ):
        return disks_told(served, [*FOLDERS], seconds=seconds)
    return {}


@contextmanager
def _full(folder: Path) -> Iterator[None]:
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for piece in _PIECES:
            with suppress(OSError):
                while True:
                    file.write(b"\0" * piece)
    try:
        yield
    finally:
        ballast.unlink()


def _is_told(served: Serving, name: str) -> bool:
    if name in _TOLD_BY:
        return served.number(_TOLD_BY[name]) < FULL_BYTES
    if name != "artifacts":
        return True
    with suppress(httpx.HTTPError):
        ready = httpx.get(f"{served.here.services.public_url}/readyz", trust_env=False)
        return "artifact store" in ready.text
    return False

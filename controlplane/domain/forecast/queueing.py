"""Where a build stands in its pool's queue, and how long until its turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """A build that runs or waits before this one."""

    is_running: bool
    low_seconds: float | None
    """What it was expected to take, less what it has run; None where nobody forecast it."""
    high_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class QueuePlace:
    """How many builds come first, and how long they take together."""

    pool: str
    waiting: int
    running: int
    low_seconds: float | None
    high_seconds: float | None
    source: str

    def to_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "waiting": self.waiting,
            "running": self.running,
            "low_seconds": _rounded(self.low_seconds),
            "high_seconds": _rounded(self.high_seconds),
            "source": self.source,
        }


def queue_place(pool: str, ahead: Sequence[Ahead]) -> QueuePlace:
    """Return the place behind these builds.

    Each running build has a worker of its own, so the work before is shared by as many; where none
    runs, one worker is assumed.
    """
    running = sum(each.is_running for each in ahead)
    workers = max(1, running)
    unknown = sum(each.low_seconds is None for each in ahead)
    low = sum(each.low_seconds or 0.0 for each in ahead) / workers
    high = sum(each.high_seconds or 0.0 for each in ahead) / workers
    return QueuePlace(
        pool=pool,
        waiting=len(ahead) - running,
        running=running,
        low_seconds=None if unknown else low,
        high_seconds=None if unknown else high,
        source=_source(ahead, workers, unknown),
    )


def _source(ahead: Sequence[Ahead], workers: int, unknown: int) -> str:
    if not ahead:
        return "no build of this pool runs or waits"
    if unknown:
        plural = "" if unknown == 1 else "s"
        return f"not told: {unknown} build{plural} before this one has no forecast"
    shared = "one worker" if workers == 1 else f"{workers} workers, one for each running build"
    return f"the forecasts of the builds before it, less what they have run, over {shared}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)

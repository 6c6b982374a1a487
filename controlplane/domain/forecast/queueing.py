"""Where a build stands in its pool's queue, and how long until its turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.forecast.estimate import Tenths
from controlplane.domain.record import Record


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """A build that runs or waits before this one."""

    is_running: bool
    low_seconds: float | None
    """What it was expected to take, less what it has run; None where nobody forecast it."""
    high_seconds: float | None


class QueuePlace(Record):
    """How many builds of the pool come first, and how long they take together."""

    pool: str
    """The pool of GPUs."""
    waiting: int
    """Builds that wait before it."""
    running: int
    """Builds that run now."""
    low_seconds: Tenths | None
    """How long those take together, the lower end; null while nobody knows."""
    high_seconds: Tenths | None
    """The upper end of the same."""
    source: str
    """What these rest on, in words."""


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

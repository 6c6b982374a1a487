"""Which step a chart has, and out of which resolution it is read: exact, and never too much."""

from collections.abc import Sequence

from apps.telemetry.series.resolutions import Resolution, resolutions

MOST_POINTS = 400
MOST_ROWS = 15_000
"""Of one answer: what PostgreSQL reads well within 100 ms."""
_FIXED_STEP_SECONDS = 60
"""How long a question may be on its way: partitions outlive what is kept by more."""
_NICE_SECONDS = (10, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 604_800)


def step_for(*, start: float, end: float, label_sets: int, requested: int | None, now: float) -> (
    tuple[int, Resolution] | None
):  # fmt: skip
    """Return step and resolution: those asked for, or the next coarser that are kept and read fast.

    None where even days are too many rows.
    """
    for step in _candidates(requested):
        resolution = _resolution_of(step)
        is_kept = start >= now - resolution.kept_seconds - _FIXED_STEP_SECONDS
        rows = label_sets * (end - start) / resolution.seconds
        if is_kept and (end - start) / step <= MOST_POINTS and rows <= MOST_ROWS:
            return step, resolution
    return _longest(start, end, label_sets)


def _candidates(requested: int | None) -> Sequence[int]:
    if requested is None:
        return _NICE_SECONDS
    # Whole buckets: a step between two of them is read as the next longer one.
    unit = max(each.seconds for each in resolutions() if each.seconds <= requested)
    first = -(-requested // unit) * unit
    return [first, *(each for each in _NICE_SECONDS if each > first)]


def _resolution_of(step: int) -> Resolution:
    return max(
        (each for each in resolutions() if step % each.seconds == 0), key=lambda each: each.seconds
    )


def _longest(start: float, end: float, label_sets: int) -> tuple[int, Resolution] | None:
    """Return the longest step, for what began before anything is kept."""
    resolution = resolutions()[-1]
    is_little = label_sets * (end - start) / resolution.seconds <= MOST_ROWS
    return (_NICE_SECONDS[-1], resolution) if is_little else None

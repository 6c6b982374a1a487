"""Histogram buckets of our roll-ups: counts per upper bound, and what they say of percentiles."""

from bisect import bisect_left
from collections.abc import Sequence

BUCKET_BOUNDS_SECONDS = (
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
)  # fmt: skip
"""Upper bounds, inclusive; one more bucket holds what is longer."""


def empty() -> list[int]:
    """Return the counts of nothing."""
    return [0] * (len(BUCKET_BOUNDS_SECONDS) + 1)


def index_of(seconds: float) -> int:
    """Return the bucket that `seconds` falls into."""
    return bisect_left(BUCKET_BOUNDS_SECONDS, seconds)


def added(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return both counts together; an empty list counts nothing."""
    if not left or not right:
        return list(left or right or empty())
    return [one + other for one, other in zip(left, right, strict=True)]


def percentile(counts: Sequence[int], share: float) -> float | None:
    """Return the estimate below which `share` of the values lie, or None without values.

    Linear within a bucket; what is past the last bound counts as that bound.
    """
    total = sum(counts)
    if not total:
        return None
    rank, seen = share * total, 0
    for position, count in enumerate(counts):
        if count and seen + count >= rank:
            return _within(position, (rank - seen) / count)
        seen += count
    return BUCKET_BOUNDS_SECONDS[-1]


def _within(position: int, share: float) -> float:
    if position >= len(BUCKET_BOUNDS_SECONDS):
        return BUCKET_BOUNDS_SECONDS[-1]
    low = BUCKET_BOUNDS_SECONDS[position - 1] if position else 0.0
    return low + (BUCKET_BOUNDS_SECONDS[position] - low) * share

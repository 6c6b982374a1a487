"""Percentiles of many stored sketches at once: read and merged by numpy, thousands in some ms.

What they say is what `sketches.Sketch` says of the same bytes merged one by one; a test holds both
to each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from apps.telemetry.series.sketches import FORMAT, UnknownFormat, value_of

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.int64]]
    Counts = np.ndarray[Any, np.dtype[np.float64]]
_HEAD = 2
"""Format and zeros, before the bins."""
_MOST_CELLS = 4_000_000
"""Of one table of groups by bins: 32 MB."""
_value_of = cache(value_of)


@dataclass(frozen=True, kw_only=True)
class Merged:
    count: int
    percentiles: Sequence[float | None]


def merged_percentiles(
    sketches: Sequence[bytes], groups: Sequence[int], *, many: int, shares: Sequence[float]
) -> list[Merged]:
    """Return for each of `many` groups what its sketches say together. Raises UnknownFormat."""
    if not sketches:
        return [_nothing(shares)] * many
    import numpy as np  # of the processes that import this, few ever ask

    of_group = np.asarray(groups, np.int64)
    zeros, owners, keys, counts = _bins(sketches, of_group)
    zeros_of: Counts = np.bincount(of_group, zeros, many).astype(np.float64)
    if not len(keys):
        owners, keys, counts = of_group, np.zeros_like(of_group), np.zeros_like(of_group)
    merged: list[Merged] = []
    width = int(keys.max() - keys.min()) + 1
    for begin in range(0, many, step := max(1, _MOST_CELLS // width)):
        end = min(many, begin + step)
        mine = (owners >= begin) & (owners < end)
        table = _table(
            owners[mine] - begin, keys[mine] - keys.min(), counts[mine], end - begin, width
        )
        merged += _of_counts(
            table + zeros_of[begin:end, None], zeros_of[begin:end], int(keys.min()), shares
        )
    return merged


def _table(
    owners: "Numbers", keys: "Numbers", counts: "Numbers", many: int, width: int
) -> "Counts":
    """Return for each group and key how many values lie in its bin or in lower ones."""
    import numpy as np

    cells = np.bincount(owners * width + keys, counts, many * width)
    return cells.reshape(many, width).cumsum(axis=1)


def _bins(
    sketches: Sequence[bytes], groups: "Numbers"
) -> tuple["Numbers", "Numbers", "Numbers", "Numbers"]:
    """Return the zeros of each sketch; and of each bin its group, key and count."""
    import numpy as np

    numbers, first = _numbers(sketches)
    formats = numbers[first]
    if (formats != FORMAT).any():
        newer = int(formats[formats != FORMAT][0])
        raise UnknownFormat(f"a sketch of format {newer}; this release reads {FORMAT}")
    sizes = np.diff(np.append(first, len(numbers)))
    place = np.arange(len(numbers)) - np.repeat(first, sizes)
    is_key = (place >= _HEAD) & (place % 2 == 0)
    many_bins = (sizes - _HEAD) // 2
    keys = _keys(numbers[is_key], many_bins)
    counts = numbers[(place >= _HEAD) & (place % 2 == 1)]
    return numbers[first + 1], np.repeat(groups, many_bins), keys, counts


def _numbers(sketches: Sequence[bytes]) -> tuple["Numbers", "Numbers"]:
    """Return the varints of all, and where those of each sketch begin."""
    import numpy as np

    content = np.frombuffer(b"".join(sketches), np.uint8)
    ends = np.flatnonzero(content < 0x80)
    begins = np.append(0, ends[:-1] + 1)
    numbers = content[ends].astype(np.int64) << (7 * (ends - begins))
    more = np.flatnonzero(content >= 0x80)  # of few: most numbers are of one byte
    of_number = np.searchsorted(ends, more)
    parts = (content[more] & 0x7F).astype(np.int64) << (7 * (more - begins[of_number]))
    np.add.at(numbers, of_number, parts)
    of_sketch = np.cumsum([0, *(len(each) for each in sketches[:-1])])
    return numbers, np.searchsorted(begins, of_sketch)


def _keys(steps: "Numbers", many_bins: "Numbers") -> "Numbers":
    """Return keys of the steps between them; the first of each sketch is its own, with a sign."""
    import numpy as np

    first = (np.cumsum(many_bins) - many_bins)[many_bins > 0]
    signed = steps[first]
    steps = steps.copy()
    steps[first] = np.where(signed & 1, -((signed + 1) >> 1), signed >> 1)
    sums = np.cumsum(steps)
    before: Numbers = np.repeat(sums[first] - steps[first], many_bins[many_bins > 0])
    return sums - before


def _of_counts(
    sofar: "Counts", zeros: "Counts", lowest: int, shares: Sequence[float]
) -> list[Merged]:
    counts = sofar[:, -1]
    percentiles = [_at(share * (counts - 1), sofar, zeros, lowest) for share in shares]
    return [
        Merged(count=int(count), percentiles=values) if count else _nothing(shares)
        for count, *values in zip(counts, *percentiles, strict=True)
    ]


def _at(ranks: "Counts", sofar: "Counts", zeros: "Counts", lowest: int) -> list[float]:
    places = (sofar <= ranks[:, None]).sum(axis=1)
    is_zero = ranks < zeros
    return [
        0.0 if zero else _value_of(lowest + int(place))
        for zero, place in zip(is_zero, places, strict=True)
    ]


def _nothing(shares: Sequence[float]) -> Merged:
    return Merged(count=0, percentiles=[None] * len(shares))

"""Hands out runs of KV cache slots, one run per row."""

from bisect import insort
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Row:
    """A run of slots of one request: `length` of its `capacity` slots hold a token."""

    first_slot: int
    capacity: int
    length: int = 0


class SlotPool:
    """First-fit over the free runs, so that a row is one slice of the cache."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.reserved = 0
        self._free = [(0, slots)]  # (first slot, count), by first slot, never adjacent

    def reserve(self, capacity: int) -> Row | None:
        """Give back a row with `capacity` slots, or nothing while no run is long enough."""
        for first, count in self._free:
            if count >= capacity:
                return Row(first, self._take(first, capacity))
        return None

    def resize(self, row: Row, capacity: int) -> bool:
        """Change a row's capacity, where it is or else at another run; say whether it was done.

        The runs may overlap: whoever moves the tokens must read them before writing.
        """
        first, before = row.first_slot, row.capacity
        self._give(first, before)
        starts = [run for run, count in self._free if count >= capacity]
        if any(run <= first and first + capacity <= run + count for run, count in self._free):
            starts = [first]
        if starts:
            row.first_slot, row.capacity = starts[0], self._take(starts[0], capacity)
        else:
            self._take(first, before)
        return bool(starts)

    def release(self, row: Row) -> None:
        """Take the row's slots back; the row must not be used afterwards."""
        self._give(row.first_slot, row.capacity)
        row.capacity = row.length = 0

    def _take(self, first: int, capacity: int) -> int:
        index, (start, count) = next(
            (index, run) for index, run in enumerate(self._free) if first < sum(run)
        )
        rest = ((start, first - start), (first + capacity, start + count - first - capacity))
        self._free[index : index + 1] = [run for run in rest if run[1]]
        self.reserved += capacity
        return capacity

    def _give(self, first: int, capacity: int) -> None:
        self.reserved -= capacity
        if capacity:
            insort(self._free, (first, capacity))
            self._free = _merge_adjacent(self._free)


def _merge_adjacent(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, count in runs:
        if merged and sum(merged[-1]) == first:
            merged[-1] = (merged[-1][0], merged[-1][1] + count)
        else:
            merged.append((first, count))
    return merged

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
        for index, (first, count) in enumerate(self._free):
            if count < capacity:
                continue
            if count == capacity:
                del self._free[index]
            else:
                self._free[index] = (first + capacity, count - capacity)
            self.reserved += capacity
            return Row(first_slot=first, capacity=capacity)
        return None

    def release(self, row: Row) -> None:
        """Take the row's slots back; the row must not be used afterwards."""
        self.reserved -= row.capacity
        insort(self._free, (row.first_slot, row.capacity))
        self._free = _merge_adjacent(self._free)
        row.capacity = row.length = 0


def _merge_adjacent(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, count in runs:
        if merged and sum(merged[-1]) == first:
            merged[-1] = (merged[-1][0], merged[-1][1] + count)
        else:
            merged.append((first, count))
    return merged

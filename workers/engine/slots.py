"""Hands out runs of KV cache slots, one run per row."""

from bisect import insort
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Row:
    """A run of slots of one request: `length` of its `capacity` slots hold a token."""

    first_slot: int
    capacity: int
    length: int = 0

    @property
    def end_slot(self) -> int:
        return self.first_slot + self.capacity


class SlotPool:
    """First-fit into the gaps between rows, so that a row is one slice of the cache."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.reserved = 0
        self._rows: list[Row] = []  # by first slot

    def reserve(self, capacity: int) -> Row | None:
        """Give back an empty row for so many tokens, or nothing while no gap is long enough."""
        first = self._gap(capacity)
        if first is None:
            return None
        row = Row(first, capacity)
        self._insert(row)
        return row

    def resize(self, row: Row, capacity: int) -> bool:
        """Change a row's capacity, where it is or else in another gap; say whether it was done."""
        self.reserved -= row.capacity
        self._rows.remove(row)
        following = next((each for each in self._rows if each.first_slot >= row.end_slot), None)
        stays = row.first_slot + capacity <= (following.first_slot if following else self.slots)
        first = row.first_slot if stays else self._gap(capacity)
        if first is not None:
            row.capacity = capacity
            self._place(row, first)
        self._insert(row)
        return first is not None

    def close_gaps(self) -> None:
        """Move all rows to the front, in their order, so that what is free is one run."""
        end = 0
        for row in self._rows:
            self._place(row, end)
            end = row.end_slot

    def release(self, row: Row) -> None:
        """Take the row's slots back; the row must not be used afterwards."""
        self.reserved -= row.capacity
        self._rows.remove(row)
        row.capacity = row.length = 0

    def _place(self, row: Row, first_slot: int) -> None:
        """Put a row where it may overlap its old place; who keeps tokens moves them along."""
        row.first_slot = first_slot

    def _gap(self, capacity: int) -> int | None:
        end = 0
        for row in self._rows:
            if row.first_slot - end >= capacity:
                return end
            end = row.end_slot
        return end if self.slots - end >= capacity else None

    def _insert(self, row: Row) -> None:
        insort(self._rows, row, key=lambda each: each.first_slot)
        self.reserved += row.capacity

"""Rows of ended answers, kept for prompts that begin alike while nobody needs their slots."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workers.engine.kv_cache import SlotCache
from workers.engine.slots import Row

LEAST_SHARED_TOKENS = 16
"""A shorter common beginning is fed again sooner than it is copied."""

MOST_KEPT_ROWS = 128

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A row, and what it holds or is to hold.

    Only rows of one `key` may share: same adapter, same tenant, same rotary frequencies.
    """

    row: Row
    tokens: Sequence[int]
    key: Hashable


class KeptRows:
    """Gives out rows of the cache; those given back serve as a memory until their slots are needed.

    The longest unused goes first.
    """

    def __init__(self, cache: SlotCache) -> None:
        self._cache = cache
        self._kept: list[Content] = []

    @property
    def used_slots(self) -> int:
        """Slots of rows that are in use, without those that are only kept."""
        return self._cache.reserved - sum(each.row.capacity for each in self._kept)

    @property
    def available_slots(self) -> int:
        """Slots that a new row could get at most."""
        return self._cache.slots - self.used_slots

    def reserve(
        self, content: Content, capacity: int, running: Iterable[Content] = ()
    ) -> Row | None:
        """Give back a row that holds as much of what is wanted as any other row has, or nothing.

        The last token is always left to be fed: its scores choose the next.
        """
        source, shared = self._best_source(content.tokens[:-1], content.key, running)
        row = self._make_room(lambda: self._cache.reserve(capacity), capacity, spared=source)
        if row is not None and source is not None and source.row.length >= shared:
            self._copy(source, row, shared)
        return row

    def grow(self, row: Row, capacity: int) -> bool:
        """Give a row in use more room, kept rows giving way; say whether there was any."""
        more = capacity - row.capacity
        return bool(self._make_room(lambda: self._cache.resize(row, capacity), more))

    def give_back(self, content: Content) -> None:
        row = content.row
        if row.length < LEAST_SHARED_TOKENS:
            self._cache.release(row)
            return
        self._cache.resize(row, row.length)
        self._kept.append(Content(row, content.tokens[: row.length], content.key))
        if len(self._kept) > MOST_KEPT_ROWS:
            self._forget(self._kept[0])

    def forget_all(self) -> None:
        while self._kept:
            self._forget(self._kept[0])

    def _best_source(
        self, tokens: Sequence[int], key: Hashable, running: Iterable[Content]
    ) -> tuple[Content | None, int]:
        best, shared = None, LEAST_SHARED_TOKENS - 1
        for content in (*self._kept, *running):
            most = min(len(tokens), content.row.length)
            # Most rows begin otherwise: one look at where they would have to be better.
            if content.key != key or most <= shared or tokens[shared] != content.tokens[shared]:
                continue
            common = shared_length(tokens, content.tokens, most)
            if common > shared:
                best, shared = content, common
        return best, shared

    def _copy(self, source: Content, row: Row, length: int) -> None:
        try:
            self._cache.copy(source.row, row, length)
        except BaseException:
            self._cache.release(row)  # nobody else knows of it yet
            raise
        if source in self._kept:
            self._kept.remove(source)
            self._kept.append(source)

    def _make_room(
        self, attempt: Callable[[], Result | None], slots: int, *, spared: Content | None = None
    ) -> Result | None:
        """Repeat an attempt that needs so many slots, giving up kept rows one after another.

        The spared one goes last. When only rows in use are left, they move together.
        """
        if slots > self.available_slots:
            return None
        while not (result := attempt()):
            if not self._kept:
                self._cache.close_gaps()
                return attempt()
            self._forget(min(self._kept, key=lambda each: each is spared))
        return result

    def _forget(self, content: Content) -> None:
        self._kept.remove(content)
        self._cache.release(content.row)


def shared_length(one: Sequence[int], other: Sequence[int], most: int) -> int:
    """Give back how many first tokens two rows have in common, by halving."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            most = middle - 1
    return low

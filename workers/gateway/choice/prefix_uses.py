"""When a replica last answered with which beginning, and what its cache has dropped since.

Engines drop what was unused longest first. So one beginning that an engine turns out to have
dropped tells of all whose last use there was no later.
"""

from collections.abc import Iterable

MOST_USES = 100_000
"""Some 10 MB."""
_MOST_CACHES = 10_000


class PrefixUses:
    """By beginning and cache: the number of the answer that used it last.

    In two generations, as `PrefixIndex` keeps what was sent.
    """

    def __init__(self, most_uses: int = MOST_USES) -> None:
        self._most_young = most_uses // 2
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}
        self._answers = 0
        self._dropped: dict[str, int] = {}
        """Of a cache: what no answer after this one used is not in it any more."""

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def last(self, block: int, cache: str) -> int | None:
        """Return which answer used it last; None where none has yet."""
        use = block ^ hash(cache)
        return self._young.get(use) or self._old.get(use)

    def is_dropped(self, block: int, cache: str) -> bool:
        """Return whether the engine has told of dropping what was used later than this."""
        if not self._dropped or (before := self._dropped.get(cache)) is None:
            return False
        last = self.last(block, cache)
        return last is not None and last <= before

    def answered(self, blocks: Iterable[int], cache: str) -> None:
        """Note the use. Of what is still being computed nothing is noted, nor held against it."""
        self._answers += 1
        # Of each block of each request: what a comprehension does costs least.
        mine, young = hash(cache), self._young
        young.update(dict.fromkeys([block ^ mine for block in blocks], self._answers))
        if len(young) > self._most_young:
            self._young, self._old = {}, young

    def dropped(self, cache: str, until: int) -> None:
        """Hold against the cache that what this answer used is gone, and so all before it."""
        self._dropped[cache] = max(until, self._dropped.get(cache, until))
        if len(self._dropped) > _MOST_CACHES:
            del self._dropped[next(iter(self._dropped))]

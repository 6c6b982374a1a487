"""Which caches of replicas hold which beginnings of prompts, as far as a gateway can tell."""

from collections.abc import Collection, Sequence

from workers.gateway.choice.prefix_uses import PrefixUses
from workers.gateway.choice.prompts import Prompt

MOST_BLOCKS = 50_000
"""Some 10 MB."""
MOST_REPLICAS = 8
"""Of one block: as many know it as anybody asks."""
_NOBODY: tuple[str, ...] = ()


class PrefixIndex:
    """By hash of a beginning: the caches that were sent it lately, the latest first.

    In two generations: when the young one is full it becomes the old, and what was old and not
    used since is forgotten. Who is in the young one has all its own beginnings there.
    `uses` knows what engines have dropped of it.
    """

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._most_young = most_blocks // 2
        self._young: dict[int, tuple[str, ...]] = {}
        self._old: dict[int, tuple[str, ...]] = {}
        self.uses = PrefixUses(2 * most_blocks)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def longest(self, prompt: Prompt, among: Collection[str]) -> tuple[tuple[str, ...], int]:
        """Return which of these caches hold most of the prompt, and how many of its letters."""
        is_dropped = self.uses.is_dropped
        for depth in range(self._depth(prompt.blocks), 0, -1):
            block = prompt.blocks[depth - 1]
            known = [each for each in self._who_knows(block) if each in among]
            if holders := tuple([each for each in known if not is_dropped(block, each)]):
                return holders, prompt.ends[depth - 1]
        return _NOBODY, 0

    def remember(self, prompt: Prompt, cache: str) -> None:
        young = self._young
        if cache in young.get(prompt.blocks[-1], _NOBODY):
            return
        for block in reversed(prompt.blocks):
            if cache in young.get(block, _NOBODY):
                break  # and so of all before it
            others = [each for each in self._who_knows(block) if each != cache]
            young[block] = (cache, *others[: MOST_REPLICAS - 1])
        if len(young) > self._most_young:
            self._young, self._old = {}, young

    def _who_knows(self, block: int) -> tuple[str, ...]:
        return self._young.get(block) or self._old.get(block, _NOBODY)

    def _depth(self, blocks: Sequence[int]) -> int:
        """Return how many of the beginnings are known, by halving: one known has all before it."""
        low, high = 0, len(blocks)
        if high and self._who_knows(blocks[-1]):
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self._who_knows(blocks[middle - 1]):
                low = middle
            else:
                high = middle - 1
        return low

"""Whose turn is next among keys that wait for one thing: deficit round robin by tokens.

Source: Shreedhar and Varghese, 1995, with turns of one token. A key that floods waits behind
itself, not before others.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from workers.gateway.turns.urgency import Urgency

Item = TypeVar("Item", bound=Hashable)


class FairQueue(Generic[Item]):
    """Items of several keys. What calls itself background waits for all that does not."""

    def __init__(self) -> None:
        self._rings: dict[int, _Ring[Item]] = {}
        """By how far in the background; the lowest first."""
        self._place_of: dict[Item, tuple[int, str]] = {}

    def __len__(self) -> int:
        return len(self._place_of)

    def __contains__(self, item: object) -> bool:
        return item in self._place_of

    def add(self, item: Item, *, key: str, tokens: int, urgency: Urgency) -> None:
        """Queue it. Urgency orders the key's own requests and takes nothing from others."""
        band = urgency.band
        self._place_of[item] = (band, key)
        self._rings.setdefault(band, _Ring()).add(item, key, tokens, urgency)

    def discard(self, item: Item) -> None:
        if (place := self._place_of.pop(item, None)) is not None:
            band, key = place
            self._rings[band].discard(item, key)
            self._drop_if_empty(band)

    def pop(self) -> Item:
        """Return whose turn it is. Raises IndexError where nobody waits."""
        if not self._rings:
            raise IndexError("nobody waits")
        band = min(self._rings)
        item = self._rings[band].pop()
        del self._place_of[item]
        self._drop_if_empty(band)
        return item

    def charge(self, key: str, tokens: int) -> None:
        """Count what an item of the key used beyond what it was reckoned at."""
        for ring in self._rings.values():
            ring.charge(key, tokens)

    def items(self) -> list[Item]:
        return list(self._place_of)

    def _drop_if_empty(self, band: int) -> None:
        if not self._rings[band].flows:
            del self._rings[band]


class _Flow(Generic[Item]):
    """What one key has waiting, by urgency, and how many tokens it may take now."""

    __slots__ = ("by_urgency", "may_take_tokens")

    def __init__(self) -> None:
        self.by_urgency: dict[int, dict[Item, int]] = {}
        self.may_take_tokens = 0

    @property
    def first(self) -> tuple[Item, int]:
        return next(iter(self.by_urgency[min(self.by_urgency)].items()))

    @property
    def missing_tokens(self) -> int:
        return max(0, self.first[1] - self.may_take_tokens)

    def remove(self, item: Item) -> None:
        for urgency, items in self.by_urgency.items():
            if items.pop(item, None) is not None:
                if not items:
                    del self.by_urgency[urgency]
                return


class _Ring(Generic[Item]):
    def __init__(self) -> None:
        self.flows: OrderedDict[str, _Flow[Item]] = OrderedDict()

    def add(self, item: Item, key: str, tokens: int, urgency: Urgency) -> None:
        flow = self.flows.get(key)
        if flow is None:
            flow = self.flows[key] = _Flow()
        flow.by_urgency.setdefault(urgency, {})[item] = tokens

    def discard(self, item: Item, key: str) -> None:
        flow = self.flows[key]
        flow.remove(item)
        if not flow.by_urgency:
            del self.flows[key]

    def charge(self, key: str, tokens: int) -> None:
        if (flow := self.flows.get(key)) is not None:
            flow.may_take_tokens -= tokens

    def pop(self) -> Item:
        """Give all the same until the first of them has enough, and return what it takes."""
        missing = min(flow.missing_tokens for flow in self.flows.values())
        for flow in self.flows.values():
            flow.may_take_tokens += missing
        key = next(key for key, flow in self.flows.items() if not flow.missing_tokens)
        item, tokens = self.flows[key].first
        self.flows[key].may_take_tokens -= tokens
        self.flows.move_to_end(key)
        self.discard(item, key)
        return item

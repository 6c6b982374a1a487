"""Requests that wait for routes to a replica, in the order in which they came."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workers.gateway.refusals import Refusal, waiting_room_full

if TYPE_CHECKING:
    from workers.gateway.exchange import Exchange
    from workers.gateway.settings import Bounds

_MEGABYTE = 1_000_000


class WaitingRoom:
    def __init__(self, bounds: "Bounds") -> None:
        self._bounds = bounds
        self._waiting: dict[Exchange, tuple[str, int]] = {}
        self.by_deployment: Counter[str] = Counter()
        self._bytes_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._waiting)

    def no_room(self, exchange: "Exchange") -> Refusal | None:
        deployment, bounds = exchange.admission.deployment, self._bounds
        count = self.by_deployment[deployment.id]
        if count >= bounds.waiting_requests:
            return waiting_room_full(deployment, f"{count} requests")
        size_bytes = self._bytes_of[deployment.id] + exchange.request_bytes
        if count and size_bytes > bounds.waiting_bytes:
            most = bounds.waiting_bytes // _MEGABYTE
            return waiting_room_full(deployment, f"{count} requests of {most} MB together")
        return None

    def add(self, exchange: "Exchange") -> None:
        self.discard(exchange)
        id, size_bytes = exchange.admission.deployment.id, exchange.request_bytes
        self._waiting[exchange] = (id, size_bytes)
        self.by_deployment[id] += 1
        self._bytes_of[id] += size_bytes

    def discard(self, exchange: "Exchange") -> None:
        if (known := self._waiting.pop(exchange, None)) is None:
            return
        id, size_bytes = known
        self.by_deployment[id] -= 1
        self._bytes_of[id] -= size_bytes
        if not self.by_deployment[id]:
            del self.by_deployment[id], self._bytes_of[id]

    def take_all(self, *, knocked: bool = False) -> Iterator["Exchange"]:
        """Yield all that wait now, in their order; whoever still has to is added anew.

        With `knocked` only those that some replica would not have.
        """
        for exchange in list(self._waiting):
            if exchange in self._waiting and exchange.has_knocked >= knocked:
                self.discard(exchange)
                yield exchange

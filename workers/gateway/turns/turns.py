"""Requests that wait because every replica of their deployment has as much as it may have."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from workers.gateway.metrics import Metrics
from workers.gateway.refusals import Refusal, queue_full
from workers.gateway.snapshot import Deployment
from workers.gateway.turns.fair_queue import FairQueue

if TYPE_CHECKING:
    from workers.gateway.exchange import Exchange
    from workers.gateway.settings import Bounds

_MEGABYTE = 1_000_000


class Turns:
    """A queue for each deployment, bounded in count and bytes."""

    def __init__(
        self, bounds: "Bounds", metrics: Metrics, has_room: Callable[[Deployment], bool]
    ) -> None:
        self._bounds, self._metrics = bounds, metrics
        self._has_room = has_room
        self._queues: dict[str, FairQueue[Exchange]] = {}
        self._bytes_of: Counter[str] = Counter()
        self._place_of: dict[Exchange, tuple[str, int]] = {}
        self._called: Exchange | None = None

    def __len__(self) -> int:
        return len(self._place_of)

    def is_behind_others(self, exchange: "Exchange") -> bool:
        """Return whether others came before it, so that it waits whatever room there is."""
        return exchange.admission.deployment.id in self._queues and exchange is not self._called

    def waiting(self, deployment_id: str) -> int:
        queue = self._queues.get(deployment_id)
        return 0 if queue is None else len(queue)

    def add(self, exchange: "Exchange", *, retry_after_seconds: int) -> Refusal | None:
        """Queue it; return why it cannot wait, or None."""
        deployment, bounds = exchange.admission.deployment, self._bounds
        count = self.waiting(deployment.id)
        size_bytes = self._bytes_of[deployment.id] + exchange.request_bytes
        if count >= bounds.waiting_requests:
            return queue_full(deployment, f"{count} requests", retry_after_seconds)
        if count and size_bytes > bounds.waiting_bytes:
            most = f"{count} requests of {bounds.waiting_bytes // _MEGABYTE} MB together"
            return queue_full(deployment, most, retry_after_seconds)
        self._bytes_of[deployment.id] = size_bytes
        self._place_of[exchange] = (deployment.id, exchange.request_bytes)
        self._queues.setdefault(deployment.id, FairQueue()).add(
            exchange,
            key=exchange.admission.key.id,
            tokens=exchange.reckoned_tokens,
            urgency=exchange.urgency,
        )
        self._metrics.of(deployment.model_id, deployment.id).waiting += 1
        return None

    def discard(self, exchange: "Exchange") -> None:
        if exchange in self._place_of:
            self._queues[self._place_of[exchange][0]].discard(exchange)
            self._forget(exchange)

    def charge(self, deployment_id: str, key_id: str, tokens: int) -> None:
        if (queue := self._queues.get(deployment_id)) is not None:
            queue.charge(key_id, tokens)

    def call(self, deployment: Deployment) -> None:
        if self._called is not None:  # whoever is at it goes on until there is none
            return
        for _ in range(self.waiting(deployment.id)):
            if deployment.id not in self._queues or not self._has_room(deployment):
                return
            self._called = self._queues[deployment.id].pop()
            self._forget(self._called)
            try:
                self._called.your_turn()
            finally:
                self._called = None

    def call_all(self) -> None:
        for queue in list(self._queues.values()):
            if len(queue):
                self.call(queue.items()[0].admission.deployment)

    def take_all(self) -> "list[Exchange]":
        """Return all that wait, in the order in which they came, and forget them."""
        waiting = [each for queue in self._queues.values() for each in queue.items()]
        for exchange in waiting:
            self.discard(exchange)
        return waiting

    def _forget(self, exchange: "Exchange") -> None:
        id, size_bytes = self._place_of.pop(exchange)
        self._metrics.of(exchange.admission.deployment.model_id, id).waiting -= 1
        self._bytes_of[id] -= size_bytes
        if not len(self._queues[id]):
            del self._queues[id], self._bytes_of[id]

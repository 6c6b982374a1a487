"""Replicas at run time, one `Upstream` each, for as long as routes name them."""

from collections.abc import Iterable, Iterator

from controlplane.clock import SYSTEM, Clock
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Deployment, Replica, Snapshot
from workers.gateway.upstream import Upstream


class UpstreamPool:
    def __init__(self, bounds: Bounds, *, clock: Clock = SYSTEM) -> None:
        self._bounds = bounds
        self._clock = clock
        self._by_address: dict[str, Upstream] = {}

    def of(self, replica: Replica) -> Upstream:
        return self._by_address.get(replica.address) or self._new(replica)

    def all(self) -> Iterable[Upstream]:
        """Return every replica that was asked for, or came beside others."""
        return self._by_address.values()

    def ejected(self) -> dict[str, str]:
        healths = ((each.replica.id, each.health) for each in self._by_address.values())
        return {id: health.reason for id, health in healths if not health.is_well}

    def keep_only(self, snapshot: Snapshot) -> None:
        """Drop replicas that are gone; what still runs on them runs to its end.

        One that comes beside others starts slowly.
        """
        live: set[str] = set()
        for deployment in _deployments(snapshot):
            named = {each.address: each for each in replicas_of(deployment)}
            live |= named.keys()
            if len(named) > 1 and not named.keys().isdisjoint(self._by_address):
                for address in named.keys() - self._by_address.keys():
                    self._new(named[address]).warms_from = self._clock.monotonic()
        for address in self._by_address.keys() - live:
            self._by_address.pop(address).close_idle(older_than=float("inf"))

    def sweep(self, now: float) -> None:
        for upstream in self._by_address.values():
            upstream.close_idle(older_than=now - self._bounds.upstream_idle_seconds)

    def close(self) -> None:
        for upstream in self._by_address.values():
            upstream.close_idle(older_than=float("inf"))

    def _new(self, replica: Replica) -> Upstream:
        upstream = Upstream(replica, self._bounds, clock=self._clock)
        self._by_address[replica.address] = upstream
        return upstream


def replicas_of(deployment: Deployment) -> Iterable[Replica]:
    """Return all that routes name, those of silent nodes among them."""
    return (*deployment.replicas, *(each.replica for each in deployment.suspects))


def _deployments(snapshot: Snapshot) -> Iterator[Deployment]:
    for model in snapshot.models.values():
        yield from model.deployments.values()

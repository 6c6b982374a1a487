"""Replicas at run time, one `Upstream` each, for as long as routes name them."""

from collections import Counter
from collections.abc import Iterable, Mapping

from controlplane.clock import SYSTEM, Clock
from workers.gateway.routes_difference import Difference
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Deployment, Replica
from workers.gateway.upstream import Upstream


class UpstreamPool:
    def __init__(self, bounds: Bounds, *, clock: Clock = SYSTEM) -> None:
        self._bounds = bounds
        self._clock = clock
        self._by_address: dict[str, Upstream] = {}
        self._named: Counter[str] = Counter()
        """How many deployments name an address."""
        self._unnamed: set[str] = set()
        """Those that may not be named any more."""

    def of(self, replica: Replica) -> Upstream:
        return self._by_address.get(replica.address) or self._new(replica)

    def all(self) -> Iterable[Upstream]:
        """Return every replica that was asked for, or came beside others."""
        return self._by_address.values()

    def ejected(self) -> dict[str, str]:
        healths = ((each.replica.id, each.health) for each in self._by_address.values())
        return {id: health.reason for id, health in healths if not health.is_well}

    def follow(self, changed: Difference) -> None:
        """Drop replicas that are gone; what still runs on them runs to its end.

        One that comes beside others starts slowly.
        """
        for before, after in changed.deployments:
            self._named.subtract(_named_by(before).keys())
            self._named.update((named := _named_by(after)).keys())
            self._unnamed |= _named_by(before).keys() - named.keys()
            if len(named) > 1 and not named.keys().isdisjoint(self._by_address):
                for address in named.keys() - self._by_address.keys():
                    self._new(named[address]).warms_from = self._clock.monotonic()
        self._drop_unnamed()

    def _drop_unnamed(self) -> None:
        for address in self._unnamed:
            if self._named[address] <= 0:
                del self._named[address]
                if (gone := self._by_address.pop(address, None)) is not None:
                    gone.close_idle(older_than=float("inf"))
        self._unnamed.clear()

    def sweep(self, now: float) -> None:
        for upstream in self._by_address.values():
            upstream.close_idle(older_than=now - self._bounds.upstream_idle_seconds)

    def close(self) -> None:
        for upstream in self._by_address.values():
            upstream.close_idle(older_than=float("inf"))

    def _new(self, replica: Replica) -> Upstream:
        upstream = Upstream(replica, self._bounds, clock=self._clock)
        self._by_address[replica.address] = upstream
        if replica.address not in self._named:
            self._unnamed.add(replica.address)  # of routes that are no longer so
        return upstream


def replicas_of(deployment: Deployment) -> Iterable[Replica]:
    """Return all that routes name, those of silent nodes among them."""
    return (*deployment.replicas, *(each.replica for each in deployment.suspects))


def _named_by(deployment: Deployment | None) -> Mapping[str, Replica]:
    if deployment is None:
        return {}
    return {each.address: each for each in replicas_of(deployment)}

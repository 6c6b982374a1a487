"""Replicas at run time stay for as long as routes name them, and no longer."""

import json
from typing import Any

from tests.workers.gateway.stage.routes import routes
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.routes_difference import difference
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica, Snapshot
from workers.gateway.snapshot_reading import read


class Stand:
    """A pool that follows routes, as a gateway's does."""

    def __init__(self) -> None:
        self.pool, self.snapshot = UpstreamPool(Bounds()), None

    def take(self, *ports: int, **changes: Any) -> list[Replica]:
        before: Snapshot | None = self.snapshot
        self.snapshot = read(json.dumps(routes(*ports, **changes)).encode())
        self.pool.follow(difference(before, self.snapshot))
        return list(self.snapshot.models["modelaaa"].deployments["deploy01"].replicas)

    @property
    def ports(self) -> list[int]:
        return sorted(each.replica.port for each in self.pool.all())


def test_a_replica_that_two_deployments_name_stays_until_neither_does() -> None:
    stand = Stand()
    asked = [stand.pool.of(each) for each in stand.take(7, 8)]
    (left,) = stand.take(7)
    assert (stand.ports, stand.pool.of(left)) == ([7], asked[0])
    stand.take(7, replicas=[])  # the other one names it
    assert stand.ports == [7]
    stand.take()
    assert stand.ports == []


def test_one_that_is_asked_by_routes_that_no_longer_hold_goes_with_the_next_ones() -> None:
    stand = Stand()
    gone = stand.take(7)[0]
    stand.take(8)
    stand.pool.of(gone)
    assert stand.ports == [7]
    stand.take(8, version=2)
    assert stand.ports == []


def test_one_that_comes_beside_others_starts_slowly_and_the_first_ones_do_not() -> None:
    stand = Stand()
    first = [stand.pool.of(each) for each in stand.take(7, 8)]
    stand.take(7, 8, 9)
    came = [each for each in stand.pool.all() if each not in first]
    assert [each.warms_from is None for each in (*first, *came)] == [True, True, False]

"""Of an environment that rolls, each deployment gets its share of the requests, evenly spread."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from controlplane.domain.wire.routes import FORMAT, RoutesDigest
from workers.gateway.refusals import Refused
from workers.gateway.routes_table import RoutesTable
from workers.gateway.shares import CanaryWish, Shares
from workers.gateway.snapshot import Model, Replica, Share
from workers.gateway.snapshot_reading import read_deployment

NO_WISH = CanaryWish()
REPLICA = Replica(id="r", host="127.0.0.1", port=1, address="r@127.0.0.1:1")


def model(share: Share, *, without: str = "") -> Model:
    row = {"name": "d", "status": "ACTIVE", "predict_route": "/v1/models"}
    deployments = {
        id: read_deployment(id, "m", row, {}, () if id == without else (REPLICA,))
        for id in ("current", "candidate")
    }
    return Model(
        id="m", name="m", team_id="t", environments={"production": "current"},
        deployments=deployments, shares={"production": share},
    )  # fmt: skip


def share_of(percent: int, *, by_header: bool = False) -> Share:
    return Share(candidate="candidate", percent=percent, by_header=by_header)


def chosen(made: Model, times: int, wish: CanaryWish = NO_WISH) -> list[str]:
    shares, share = Shares(), made.shares["production"]
    return [shares.choose(made, "production", share, wish) for _ in range(times)]


@pytest.mark.parametrize("percent", [0, 1, 10, 33, 50, 90, 100])
def test_of_a_hundred_requests_the_candidate_gets_its_percent_evenly_spread(percent: int) -> None:
    got = chosen(model(share_of(percent)), 200)
    assert got.count("candidate") == 2 * percent
    turns = [at for at, each in enumerate(got) if each == "candidate"]
    gaps = {after - before for before, after in pairwise(turns)}
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize(("without", "gets"), [("candidate", "current"), ("current", "candidate")])
def test_where_one_has_no_replica_the_other_serves_all(without: str, gets: str) -> None:
    assert set(chosen(model(share_of(50), without=without), 10)) == {gets}


def test_one_that_was_deactivated_meanwhile_gets_nothing_while_its_replicas_leave() -> None:
    made = model(share_of(50))
    left = replace(made.deployments["candidate"], status="DEACTIVATING")
    closed = replace(made, deployments={**made.deployments, "candidate": left})
    assert set(chosen(closed, 10)) == {"current"}


def test_a_candidate_without_a_share_gets_nothing_even_where_nothing_else_serves() -> None:
    assert set(chosen(model(share_of(0), without="current"), 10)) == {"current"}


@pytest.mark.parametrize(("says", "gets"), [(b"always", "candidate"), (b"never", "current")])
def test_a_client_chooses_by_a_header_where_the_environment_allows_it(
    says: bytes, gets: str
) -> None:
    open_to_all = model(share_of(50, by_header=True))
    assert set(chosen(open_to_all, 10, CanaryWish(header=says))) == {gets}
    assert len(set(chosen(model(share_of(50)), 10, CanaryWish(header=says)))) == 2


def test_a_word_that_means_nothing_is_refused_by_name() -> None:
    with pytest.raises(Refused) as refused:
        chosen(model(share_of(50, by_header=True)), 1, CanaryWish(header=b"yes"))
    refusal = refused.value.refusal
    assert (refusal.status, "`yes`" in refusal.message) == (400, True)


def test_a_request_that_looks_for_a_replica_again_stays_where_it_was_read_for() -> None:
    wish = CanaryWish(before="candidate")
    assert set(chosen(model(share_of(10)), 10, wish)) == {"candidate"}
    assert "current" in chosen(model(share_of(10), without="candidate"), 10, wish)


def test_shares_come_with_the_routes_and_a_control_plane_before_sends_none() -> None:
    values = {"candidate": "d2", "percent": 25, "by_header": None}
    row: dict[str, Any] = {"name": "m", "team_id": "t", "environments": {"production": "d1"}}
    rows = {"m": row, "m2": {**row, "shares": {"production": values}}}
    table = RoutesTable()
    table.take(_whole(rows))
    assert table.snapshot is not None
    assert table.snapshot.models["m"].shares == {}
    share = table.snapshot.models["m2"].shares["production"]
    assert (share.candidate, share.percent, share.by_header) == ("d2", 25, False)


def _whole(models: dict[str, Any]) -> bytes:
    rows = {"models": models, "deployments": {}, "replicas": {}, "keys": {}}
    digest = RoutesDigest()
    digest.put_all(rows)
    head = {"format": FORMAT, "version": 1, "digest": digest.text, "after": None}
    return json.dumps({**head, "route_tables": {}, **rows}).encode()

"""Changes, one after the other, make the table that the whole would have made."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.wire.routes import KINDS, RoutesDigest
from workers.gateway.kept_routes import merged
from workers.gateway.routes_difference import difference
from workers.gateway.routes_table import RoutesGap, RoutesTable
from workers.gateway.snapshot import Deployment, Key, Snapshot
from workers.gateway.snapshot_reading import UnreadableSnapshot

Table = dict[str, dict[str, Any]]
_IDS = ("a", "b", "c")
_TABLES = {"one": {"/v1/models": ["GET"]}, "two": {"/v1/models": ["GET"], "/score": ["POST"]}}


def _model(name: str) -> dict[str, Any]:
    return {"name": name, "team_id": "t", "environments": {"production": name}}


def _deployment(model: str, table: str) -> dict[str, Any]:
    return {"model_id": model, "name": "d", "status": "ACTIVE", "predict_route": "/v1/models",
            "route_table": table}  # fmt: skip


def _replica(deployment: str, port: int) -> dict[str, Any]:
    return {"deployment_id": deployment, "host": "127.0.0.1", "port": port}


def _key(id: str) -> dict[str, Any]:
    return {"id": id, "scope": "invoke", "team_id": "t", "limits": {}}


_ROWS = {
    "models": st.builds(_model, st.sampled_from(_IDS)),
    "deployments": st.builds(_deployment, st.sampled_from(_IDS), st.sampled_from(list(_TABLES))),
    "replicas": st.builds(_replica, st.sampled_from(_IDS), st.integers(1, 3)),
    "keys": st.builds(_key, st.sampled_from(_IDS)),
}
_PUT = st.one_of(
    st.tuples(st.just(kind), st.sampled_from(_IDS), st.none() | rows)
    for kind, rows in _ROWS.items()
)
_CHANGES = st.lists(st.lists(_PUT, max_size=4), max_size=8)


class _Followed:
    """What somebody knows who looks at differences alone."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.deployments: dict[str, Deployment] = {}
        self.keys: dict[int, Key] = {}

    def take(self, snapshot: Snapshot | None) -> None:
        assert snapshot is not None
        changed = difference(self.snapshot, snapshot)
        self.snapshot = snapshot
        for gone, _ in changed.deployments:
            assert gone is None or self.deployments.pop(gone.id) is gone
        self.deployments |= {each.id: each for _, each in changed.deployments if each is not None}
        for key, _ in changed.keys:
            assert key is None or self.keys.pop(id(key)) is key
        self.keys |= {id(key): key for _, key in changed.keys if key is not None}
        named = [each.deployments for each in snapshot.models.values()]
        assert self.deployments == {id: row for rows in named for id, row in rows.items()}
        assert self.keys == {id(key): key for key in snapshot.keys.values()}


@given(first=st.lists(_PUT, max_size=8), changes=_CHANGES)
def test_any_changes_make_what_the_whole_makes(first: list[Any], changes: list[Any]) -> None:
    table, known = RoutesTable(), _changed(_empty(), first)
    payloads = [_whole(known, 1)]
    assert table.take(payloads[0]).is_same
    followed = _Followed()
    followed.take(table.snapshot)
    for version, change in enumerate(changes, 2):
        known = _changed(known, change)
        payloads.append(_change(known, change, version))
        assert table.take(payloads[-1]).is_same
        followed.take(table.snapshot)
    other = RoutesTable()
    assert other.take(_whole(known, len(changes) + 1)).is_same
    assert table.snapshot == other.snapshot
    assert table.digest == other.digest
    kept = RoutesTable()
    assert kept.take(merged(payloads)).is_same
    assert kept.snapshot == table.snapshot


@given(changes=_CHANGES, place=st.integers(0, 8))
def test_a_change_that_comes_twice_or_after_a_gap_changes_nothing(
    changes: list[Any], place: int
) -> None:
    table, known = RoutesTable(), _empty()
    table.take(_whole(known, 1))
    for version, change in enumerate(changes, 2):
        known = _changed(known, change)
        payload = _change(known, change, version)
        if version == place:
            continue  # lost
        if place and version > place >= 2:
            before = table.snapshot
            with pytest.raises(RoutesGap):
                table.take(payload)
            assert table.snapshot is before
            continue
        table.take(payload)
        with pytest.raises(RoutesGap):
            table.take(payload)


def test_a_change_that_left_something_out_is_known_by_its_digest() -> None:
    table, known = RoutesTable(), _changed(_empty(), [("keys", "a", _key("a"))])
    table.take(_whole(known, 1))
    revoked = _changed(known, [("keys", "a", None)])
    unnamed = json.loads(_change(revoked, [], 2))
    assert not table.take(json.dumps(unnamed).encode()).is_same


def test_a_removed_key_is_gone_though_the_digest_differs() -> None:
    table, known = RoutesTable(), _changed(_empty(), [("keys", "a", _key("a"))])
    table.take(_whole(known, 1))
    change = json.loads(_change(_empty(), [("keys", "a", None)], 2)) | {"digest": "f" * 32}
    assert not table.take(json.dumps(change).encode()).is_same
    assert table.snapshot is not None
    assert table.snapshot.keys == {}


@pytest.mark.parametrize("harm", [{"models": {"a": {"name": "x"}}}, {"keys": []}, {"format": 3}])
def test_a_change_that_cannot_be_read_changes_nothing(harm: dict[str, Any]) -> None:
    table = RoutesTable()
    table.take(_whole(_changed(_empty(), [("models", "a", _model("m"))]), 1))
    before, digest = table.snapshot, table.digest
    change = json.loads(_change(_empty(), [("keys", "b", None)], 2)) | harm
    with pytest.raises(UnreadableSnapshot):
        table.take(json.dumps(change).encode())
    assert (table.snapshot, table.digest) == (before, digest)


def test_what_nothing_touched_is_the_same_object_as_before() -> None:
    table = RoutesTable()
    known = _changed(_empty(), [("models", each, _model(each)) for each in _IDS])
    known = _changed(known, [("deployments", each, _deployment(each, "one")) for each in _IDS])
    table.take(_whole(known, 1))
    before = table.snapshot
    change = [("replicas", "a", _replica("b", 1))]
    table.take(_change(_changed(known, change), change, 2))
    assert before is not None
    assert table.snapshot is not None
    assert table.snapshot.models["a"] is before.models["a"]
    assert [each.port for each in table.snapshot.models["b"].deployments["b"].replicas] == [1]


def test_of_kept_routes_a_line_that_was_cut_short_is_passed_over() -> None:
    known = _changed(_empty(), [("keys", "a", _key("a"))])
    change = [("keys", "a", None)]
    cut = _change(_empty(), change, 2)
    whole = json.loads(merged([_whole(known, 1), cut[:-5], cut]))
    assert (whole["version"], whole["keys"]) == (2, {})


def _empty() -> Table:
    return {kind: {} for kind in KINDS}


def _changed(table: Table, change: list[tuple[str, str, Any]]) -> Table:
    after = {kind: dict(rows) for kind, rows in table.items()}
    for kind, id, row in change:
        if row is None:
            after[kind].pop(id, None)
        else:
            after[kind][id] = row
    return after


def _whole(table: Table, version: int) -> bytes:
    return _message(table, table, version, None)


def _change(table: Table, change: list[tuple[str, str, Any]], version: int) -> bytes:
    named = _empty()
    for kind, id, _ in change:
        named[kind][id] = table[kind].get(id)
    return _message(table, named, version, version - 1)


def _message(table: Table, told: Table, version: int, after: int | None) -> bytes:
    digest = RoutesDigest()
    digest.put_all(table)
    head = {"format": 2, "version": version, "after": after, "digest": digest.text}
    return json.dumps(head | {"route_tables": _TABLES} | told).encode()


def test_only_what_a_change_touched_is_looked_at_and_all_of_it_after_a_gap() -> None:
    table = RoutesTable()
    known = _changed(_empty(), [("models", each, _model(each)) for each in _IDS])
    known = _changed(known, [("deployments", each, _deployment(each, "one")) for each in _IDS])
    known = _changed(known, [("keys", each, _key(each)) for each in _IDS])
    table.take(_whole(known, 1))
    first = table.snapshot
    for version, change in ((2, ("keys", "a", None)), (3, ("replicas", "a", _replica("b", 1)))):
        known = _changed(known, [change])
        before = table.snapshot
        table.take(_change(known, [change], version))
    assert first is not None
    assert table.snapshot is not None
    last = difference(before, table.snapshot)
    assert ([each.id for _, each in last.deployments if each], last.keys) == (["b"], [])
    both = difference(first, table.snapshot)
    assert [each.id for _, each in both.deployments if each] == ["b"]
    assert both.keys == [(first.keys["a"], None)]

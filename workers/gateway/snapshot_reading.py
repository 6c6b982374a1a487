"""How a snapshot, and each row of it, is read from what the control plane sent."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from controlplane.domain.json_text import read_json
from controlplane.domain.wire.client_routes import ANY, HOSTED
from controlplane.domain.wire.identity import Identity
from controlplane.domain.wire.routes import FORMAT
from workers.gateway.consents import read_consent
from workers.gateway.snapshot import (
    Backpressure,
    Deployment,
    Key,
    Model,
    Replica,
    Routes,
    Scope,
    Share,
    Snapshot,
    Suspect,
)
from workers.gateway.spend.measured import read_spend

NESTED_FORMATS = frozenset({0, 1})
"""Of control planes of earlier releases, which send everything in one nested value."""
READABLE_FORMATS = NESTED_FORMATS | {FORMAT}


class UnreadableSnapshot(Exception):
    """The payload is not a routes snapshot that this gateway understands."""


def read(payload: bytes) -> Snapshot:
    """Return the snapshot in a nested `payload`; keys it does not know are ignored.

    Raises UnreadableSnapshot.
    """
    with reading():
        return nested(message(payload))


def message(payload: bytes) -> dict[str, Any]:
    """Return what the control plane said.

    Raises UnreadableSnapshot where a later release said it.
    """
    data: dict[str, Any] = read_json(payload)
    if data["format"] not in READABLE_FORMATS:
        raise UnreadableSnapshot(
            f"routes snapshot has format {data['format']}, this gateway reads up to {FORMAT}: "
            "upgrade the gateway before the control plane"
        )
    return data


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever is wrong with a message into UnreadableSnapshot."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnreadableSnapshot(f"routes snapshot cannot be read: {error!r}") from error


def nested(data: Mapping[str, Any]) -> Snapshot:
    """Return the snapshot in a message of an earlier release."""
    tables = {name: table(rows) for name, rows in data.get("route_tables", {}).items()}
    return Snapshot(
        version=int(data["version"]),
        models={id: _model(id, row, tables) for id, row in data["models"].items()},
        keys={digest: read_key(row) for digest, row in data["keys"].items()},
    )


def _model(id: str, row: Mapping[str, Any], tables: Mapping[str, Routes]) -> Model:
    return Model(
        id=id,
        name=row["name"],
        team_id=row["team_id"],
        environments=dict(row["environments"]),
        deployments={
            deployment_id: read_deployment(
                deployment_id,
                id,
                deployment,
                tables,
                tuple(read_replica(each["id"], each) for each in deployment["replicas"]),
            )
            for deployment_id, deployment in row["deployments"].items()
        },
        consent=read_consent(row),
    )


def read_deployment(
    id: str,
    model_id: str,
    row: Mapping[str, Any],
    tables: Mapping[str, Routes],
    replicas: tuple[Replica, ...] = (),
) -> Deployment:
    table = tables.get(row.get("route_table", ""), _HOSTED)
    extra = frozenset(row.get("extra_routes") or ()) - table.keys()
    return Deployment(
        id=id,
        model_id=model_id,
        name=row["name"],
        status=row["status"],
        environment=row.get("environment"),
        served_model_name=row.get("served_model_name"),
        predict_route=row["predict_route"],
        adapters=frozenset(row.get("adapters") or ()),
        shares_prefixes=bool(row.get("shares_prefixes")),
        salts_every_route=bool(row.get("salts_every_route")),
        default_max_tokens=row.get("default_max_tokens"),
        has_own_words=bool(row.get("has_own_words")),
        translates_responses=bool(row.get("translates_responses")),
        routes={**table, **dict.fromkeys(extra, _ANY)} if extra else table,
        extra_routes=extra,
        backpressure=_backpressure(row.get("backpressure")),
        replicas=replicas,
        suspects=tuple(read_suspect(each["id"], id, each) for each in row.get("suspects") or ()),
    )


def read_shares(row: Mapping[str, Any]) -> Mapping[str, Share]:
    """Return the shares in a model's row; a control plane of an earlier release knows none."""
    return {
        name: Share(
            candidate=each["candidate"],
            percent=max(0, min(int(each["percent"]), 100)),
            by_header=bool(each.get("by_header")),
        )
        for name, each in (row.get("shares") or {}).items()
    }


def table(rows: Mapping[str, Iterable[str]]) -> Routes:
    return {path: frozenset(each.encode() for each in methods) for path, methods in rows.items()}


def read_replica(id: str, row: Mapping[str, Any]) -> Replica:
    host, port = row["host"], int(row["port"])
    return Replica(id=id, host=host, port=port, address=f"{id}@{host}:{port}")


def read_suspect(id: str, deployment_id: str, row: Mapping[str, Any]) -> Suspect:
    return Suspect(
        replica=read_replica(id, row),
        probe_port=int(row["probe_port"]),
        identity=Identity(
            deployment_id=deployment_id,
            replica_id=id,
            generation=int(row["generation"]),
            boot_id=row["boot_id"],
        ),
    )


def read_key(row: Mapping[str, Any]) -> Key:
    limits = row.get("limits") or {}
    return Key(
        id=row["id"],
        scope=Scope(row["scope"]),
        team_id=row["team_id"],
        model_ids=_frozen(row.get("model_ids")),
        environments=_frozen(row.get("environments")),
        expires_at=row.get("expires_at"),
        requests_per_minute=limits.get("requests_per_minute"),
        parallel_requests=limits.get("parallel_requests"),
        tokens_per_minute=limits.get("tokens_per_minute"),
        spent_until=limits.get("spent_until"),
        traffic_mark=row.get("traffic_mark") or "",
        spend=read_spend(limits.get("spend")),
    )


def _backpressure(row: Mapping[str, Any] | None) -> Backpressure | None:
    if row is None:
        return None
    return Backpressure(
        concurrency=max(1, int(row["concurrency"])), rejects=row["policy"] == "REJECT_ON_FULL"
    )


def _frozen(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


_ANY = frozenset(each.encode() for each in ANY)
_HOSTED = table(HOSTED)
"""What is open where a control plane of an earlier release names no table."""

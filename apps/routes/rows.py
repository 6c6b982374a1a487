"""What gateways know of each model, deployment, ready replica and key, by kind and id."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.db import connection
from psycopg.sql import Composed

from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.routes_version import EVERYTHING
from apps.deployments.models import Deployment, ServedModel
from apps.deployments.selectors import (
    adapter_names,
    default_max_tokens,
    extra_routes,
    is_encoder,
    predict_route,
    served_model_name,
    shares_prefixes,
)
from apps.deployments.services.backpressure import backpressure_route
from apps.routes.queries import CHANGED, IDS, ROWS
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import open_routes
from controlplane.domain.wire.routes import KINDS
from controlplane.prepared import prepared_cursor

Named = Mapping[str, Collection[str]]
_SCOPES = {
    ApiKeyType.PERSONAL: "full",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "full",
    ApiKeyType.WORKSPACE_INVOKE: "invoke",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "metrics",
}


_SERVING = frozenset({DeploymentState.ACTIVE, DeploymentState.UNHEALTHY})


class RoutesChanged(NamedTuple):
    """The present version, whether all up to it is named, and the rows that changed after one."""

    version: int
    is_named: bool
    rows: dict[str, dict[str, Any]] | None
    """By kind and id, None for each that is not there any more; None where that is everything."""


def routes_changed(after: int) -> RoutesChanged:
    """Return what changed after that version, read at one moment."""
    changed: dict[str, list[Any]] = {}
    with prepared_cursor() as cursor:
        cursor.execute(CHANGED, {"after": after, "now": clock.now()})
        for kind, row in cursor.fetchall():
            changed.setdefault(kind, []).append(json.loads(row))
    ((version, is_named),) = changed.get("version", [(0, False)])
    named: dict[str, list[str]] = {}
    for kind, name in changed.get("named", ()):
        named.setdefault(kind, []).append(name)
    rows = None if EVERYTHING in named else with_gone(_tables(changed), named)
    return RoutesChanged(version, is_named, rows)


def with_gone(rows: Mapping[str, Any], named: Named) -> dict[str, Any]:
    with_absent: dict[str, Any] = {"route_tables": rows["route_tables"]}
    for kind in KINDS:
        with_absent[kind] = {**dict.fromkeys(named.get(kind, ())), **rows[kind]}
    return with_absent


def routes_rows(named: Named | None = None) -> dict[str, dict[str, Any]]:
    """Return rows by kind and id, of all that there is or of what is named, and route tables.

    What is named and is not returned is not there any more.
    """
    return _tables(
        {kind: _fetched(kind, None if named is None else named.get(kind, ())) for kind in ROWS}
    )


def _tables(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    tables: dict[str, Any] = {}
    return {
        "models": dict(_models(rows.get("models", ()))),
        "deployments": dict(_deployments(rows.get("deployments", ()), tables)),
        "replicas": dict(_replicas(rows.get("replicas", ()))),
        "keys": dict(_keys(rows.get("keys", ()))),
        "route_tables": tables,
    }


def routes_ids(kind: str) -> list[str]:
    return [id for (id,) in _rows(IDS[kind], {"ids": None, "now": clock.now()})]


def keys_that_expired(hashes: Collection[str]) -> set[str]:
    keys = ApiKey.objects.filter(revoked_at=None, expires_at__lte=clock.now())
    rows = keys.filter(secret_sha256__in=hashes)
    return set(rows.values_list("secret_sha256", flat=True))


_Rows = Iterator[tuple[str, dict[str, Any]]]


def _fetched(kind: str, ids: Collection[str] | None) -> Iterator[Any]:
    if ids is None or ids:
        parameters = {"ids": None if ids is None else list(ids), "now": clock.now()}
        for (row,) in _rows(ROWS[kind], parameters):
            yield json.loads(row)


def _rows(statement: Composed, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _models(rows: Iterable[Mapping[str, Any]]) -> _Rows:
    for row in rows:
        places = dict(zip(row["environments"] or (), row["points_at"] or (), strict=True))
        model = {"name": row["name"], "team_id": row["team_id"], "environments": places}
        if row["shares"]:
            model["shares"] = row["shares"]
        if row["sampling"]:
            model["sampling"] = row["sampling"]
        yield row["id"], model


def _deployments(rows: Iterable[Mapping[str, Any]], tables: dict[str, Any]) -> _Rows:
    """Yield what gateways know of each; the route tables that they name go into `tables`."""
    for deployment in _with_checkpoints(rows):
        yield (
            deployment.id,
            {
                "model_id": deployment.model_id,
                "name": deployment.name,
                "status": _status(deployment),
                "environment": deployment.environment_name,
                "served_model_name": served_model_name(deployment),
                "predict_route": predict_route(deployment),
                "adapters": adapter_names(deployment),
                "shares_prefixes": shares_prefixes(deployment),
                "salts_every_route": _is(deployment, "salts_every_route"),
                "default_max_tokens": default_max_tokens(deployment),
                "has_own_words": _is(deployment, "non_openai_dialect"),
                "translates_responses": _is(deployment, "lacks_responses"),
                "route_table": _route_table(
                    deployment.runtime, deployment.reported_version, tables
                ),
                "extra_routes": extra_routes(deployment),
                **({"backpressure": limit} if (limit := backpressure_route(deployment)) else {}),
            },
        )


def _status(deployment: Deployment) -> str:
    """Return its state; of one whose last replica leaves, that it sleeps: requests wait for it."""
    is_leaving = deployment.wanted_replicas == 0 and deployment.state in _SERVING
    return (DeploymentState.SCALED_TO_ZERO if is_leaving else deployment.state).upper()


def _with_checkpoints(rows: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield deployments, with checkpoints only where a route depends on it: they are large."""
    made = [_deployment(row) for row in rows]
    checkpoints = _checkpoints([each.id for each in made if is_encoder(each)])
    for each in made:
        each.checkpoint = checkpoints.get(each.id)
        yield each


def _checkpoints(ids: Collection[str]) -> dict[str, Any]:
    if not ids:  # as for most changes: making a queryset that nobody reads is not free
        return {}
    return dict(Deployment.objects.filter(id__in=ids).values_list("id", "checkpoint"))


def _deployment(row: Mapping[str, Any]) -> Any:
    more = ("model_name", "environment_name", "reported_version")
    made: Any = Deployment(**_without(row, *more))
    made.model = ServedModel(id=row["model_id"], name=row["model_name"])
    made.environment_name, made.reported_version = row["environment_name"], row["reported_version"]
    return made


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def _is(deployment: Deployment, trait: str) -> bool:
    return bool(getattr(RUNTIMES.get(deployment.runtime), trait, False))


def _route_table(runtime: str, version: str | None, tables: dict[str, Any]) -> str:
    """Return the table's name; tables are few and deployments many."""
    table = open_routes(runtime, version)
    name = f"{runtime} {table.of_version}" if table.of_version else "hosted"
    if name not in tables:
        tables[name] = {path: sorted(methods) for path, methods in sorted(table.routes.items())}
    return name


def _replicas(rows: Iterable[Mapping[str, Any]]) -> _Rows:
    """Yield where replicas answer; of suspects where they may, and how each tells who it is."""
    proof = ("probe_port", "generation", "boot_id", "is_suspect")
    for row in rows:
        yield row["id"], _without(row, "id", *(() if row["is_suspect"] else proof))


_LIMITS = ("requests_per_minute", "tokens_per_minute", "parallel_requests", "spent_until")


def _keys(rows: Iterable[Mapping[str, Any]]) -> _Rows:
    for row in rows:
        key = _without(row, "secret_sha256", "type", *_LIMITS, "spend")
        key["scope"] = _SCOPES[ApiKeyType(row["type"])]
        if not row["traffic_mark"]:
            del key["traffic_mark"]
        key["limits"] = {name: row[name] for name in _LIMITS}
        if row["spend"] is not None:
            key["limits"]["spend"] = row["spend"]
        yield row["secret_sha256"], key

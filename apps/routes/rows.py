"""What gateways know of each model, deployment, ready replica and key, by kind and id."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db import connection
from psycopg.sql import Composed

from apps.accounts.models import ApiKey, ApiKeyType
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
from apps.routes.queries import DEPLOYMENTS, IDS, KEYS, MODELS, REPLICAS
from controlplane import clock
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import open_routes

Named = Mapping[str, Collection[str]]
_SCOPES = {
    ApiKeyType.PERSONAL: "full",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "full",
    ApiKeyType.WORKSPACE_INVOKE: "invoke",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "metrics",
}


def routes_rows(named: Named | None = None) -> dict[str, dict[str, Any]]:
    """Return rows by kind and id, of all that there is or of what is named, and route tables.

    What is named and is not returned is not there any more.
    """
    tables: dict[str, Any] = {}
    return {
        "models": dict(_models(_asked(named, "models"))),
        "deployments": dict(_deployments(_asked(named, "deployments"), tables)),
        "replicas": dict(_replicas(_asked(named, "replicas"))),
        "keys": dict(_keys(_asked(named, "keys"))),
        "route_tables": tables,
    }


def routes_ids(kind: str) -> list[str]:
    """Return the ids of all rows of the kind that are there."""
    return [id for (id,) in _rows(IDS[kind], {"ids": None, "now": clock.now()})]


def keys_that_expired(hashes: Collection[str]) -> set[str]:
    """Return which of these keys ended by time alone."""
    keys = ApiKey.objects.filter(revoked_at=None, expires_at__lte=clock.now())
    rows = keys.filter(secret_sha256__in=hashes)
    return set(rows.values_list("secret_sha256", flat=True))


_Asked = dict[str, Any]
"""What a statement is given; without it, nothing of the kind is named, and nothing is asked."""
_Rows = Iterator[tuple[str, dict[str, Any]]]


def _asked(named: Named | None, kind: str) -> _Asked | None:
    if named is None:
        return {"ids": None}
    ids = named.get(kind)
    return {"ids": list(ids)} if ids else None


def _rows(statement: str | Composed, asked: _Asked | None) -> list[tuple[Any, ...]]:
    if asked is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _models(asked: _Asked | None) -> _Rows:
    for id, name, team_id, environments, points_at in _rows(MODELS, asked):
        places = dict(zip(environments or (), points_at or (), strict=True))
        yield id, {"name": name, "team_id": team_id, "environments": places}


def _deployments(asked: _Asked | None, tables: dict[str, Any]) -> _Rows:
    """Yield what gateways know of each; the route tables that they name go into `tables`."""
    for deployment in _with_checkpoints(asked) if asked else ():
        yield (
            deployment.id,
            {
                "model_id": deployment.model_id,
                "name": deployment.name,
                "status": deployment.state.upper(),
                "environment": deployment.environment_name,
                "served_model_name": served_model_name(deployment),
                "predict_route": predict_route(deployment),
                "adapters": adapter_names(deployment),
                "shares_prefixes": shares_prefixes(deployment),
                "salts_every_route": _is(deployment, "salts_every_route"),
                "default_max_tokens": default_max_tokens(deployment),
                "has_own_words": _is(deployment, "non_openai_dialect"),
                "route_table": _route_table(deployment.runtime, deployment.told_version, tables),
                "extra_routes": extra_routes(deployment),
            },
        )


def _with_checkpoints(asked: _Asked) -> Iterator[Any]:
    """Yield deployments, with checkpoints only where a route depends on it: they are large."""
    found: list[Any] = list(Deployment.objects.raw(DEPLOYMENTS, asked))
    encoders = [each.id for each in found if is_encoder(each)]
    known = Deployment.objects.filter(id__in=encoders).values_list("id", "checkpoint")
    checkpoints = dict(known) if encoders else {}
    for each in found:
        each.model = ServedModel(id=each.model_id, name=each.model_name)
        each.checkpoint = checkpoints.get(each.id)
        yield each


def _is(deployment: Deployment, trait: str) -> bool:
    return bool(getattr(RUNTIMES.get(deployment.runtime), trait, False))


def _route_table(runtime: str, version: str | None, tables: dict[str, Any]) -> str:
    """Return the table's name; tables are few and deployments many."""
    found = open_routes(runtime, version)
    name = f"{runtime} {found.of_version}" if found.of_version else "hosted"
    if name not in tables:
        tables[name] = {path: sorted(methods) for path, methods in sorted(found.routes.items())}
    return name


def _replicas(asked: _Asked | None) -> _Rows:
    """Yield where replicas answer; of suspects where they may, and how each tells who it is."""
    for id, deployment_id, host, port, is_suspect, *proof in _rows(REPLICAS, asked):
        told = {"deployment_id": deployment_id, "host": host, "port": port}
        if is_suspect:
            probe_port, generation, boot_id = proof
            told |= {"probe_port": probe_port, "generation": generation, "boot_id": boot_id}
            told["is_suspect"] = True
        yield id, told


def _keys(asked: _Asked | None) -> _Rows:
    if asked is None:
        return
    for key in ApiKey.objects.raw(KEYS, {**asked, "now": clock.now()}):
        yield (
            key.secret_sha256,
            {
                "id": key.id,
                "prefix": key.prefix,
                "scope": _SCOPES[ApiKeyType(key.type)],
                "team_id": key.team_id,
                "model_ids": key.model_ids,
                "environments": key.environments,
                "expires_at": key.expires_at.timestamp() if key.expires_at else None,
                "limits": {
                    "requests_per_minute": key.requests_per_minute,
                    "tokens_per_minute": key.tokens_per_minute,
                    "parallel_requests": key.parallel_requests,
                    "spent_until": key.spent_until.timestamp() if key.spent_until else None,
                },
            },
        )

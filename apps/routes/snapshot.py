"""What gateways know: models, deployments, ready replicas and key hashes, in one JSON value."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

from django.db.models import F, Model, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.routes_version import routes_version_current
from apps.deployments.models import Deployment, Environment, Replica, ServedModel
from apps.deployments.selectors import (
    adapter_names,
    default_max_tokens,
    extra_routes,
    is_encoder,
    predict_route,
    served_model_name,
    shares_prefixes,
)
from controlplane import clock
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import open_routes

FORMAT_BEFORE = 1
"""What gateways of the release before read: everything in one nested value."""
Named = Mapping[str, Collection[str]]
Row = TypeVar("Row", bound=Model)
_READ_OF_DEPLOYMENTS = ("name", "state", "runtime", "spec", "model__name")
_SCOPES = {
    ApiKeyType.PERSONAL: "full",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "full",
    ApiKeyType.WORKSPACE_INVOKE: "invoke",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "metrics",
}


def routes_snapshot() -> dict[str, Any]:
    """Return the snapshot as gateways of the release before read it, with its version.

    The version is read first: what is read after it is at least as new, so a gateway that has
    applied a version has seen every change that came with it.
    """
    version = routes_version_current()
    rows = routes_rows()
    replicas: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for id, row in rows["replicas"].items():
        # Apart: a gateway that knows no suspects must not take them for ready.
        kind = "suspects" if row.get("is_suspect") else "replicas"
        told = {"id": id, **_without(row, "deployment_id", "is_suspect")}
        replicas[row["deployment_id"]][kind].append(told)
    deployments: dict[str, dict[str, Any]] = defaultdict(dict)
    for id, row in rows["deployments"].items():
        told = _without(row, "model_id") | {"replicas": [], **replicas.get(id, {})}
        deployments[row["model_id"]][id] = told
    models = {
        id: {**row, "deployments": deployments.get(id, {})} for id, row in rows["models"].items()
    }
    return {
        "format": FORMAT_BEFORE,
        "version": version,
        "route_tables": rows["route_tables"],
        "models": models,
        "keys": rows["keys"],
    }


def routes_rows(named: Named | None = None) -> dict[str, dict[str, Any]]:
    """Return rows by kind and id, of all that there is or of what is named, and route tables.

    What is named and is not returned is not there any more.
    """
    environments = _environments(None if named is None else named.get("models", ()))
    tables: dict[str, Any] = {}
    return {
        "models": _models(environments, _ids(named, "models")),
        "deployments": _deployments(_ids(named, "deployments"), tables),
        "replicas": _replicas(_ids(named, "replicas")),
        "keys": _keys(_ids(named, "keys")),
        "route_tables": tables,
    }


def routes_ids(kind: str) -> list[str]:
    """Return the ids of all rows of the kind that are there."""
    ids: Mapping[str, list[Any]] = {
        "models": [ServedModel.objects.values_list("id", flat=True)],
        "deployments": [Deployment.objects.values_list("id", flat=True)],
        "replicas": [each.values_list("id", flat=True) for each in (_ready(), _lost())],
        "keys": [_usable_keys().values_list("secret_sha256", flat=True)],
    }
    return [id for rows in ids[kind] for id in rows.order_by()]


def keys_that_expired(hashes: Collection[str]) -> set[str]:
    """Return which of these keys ended by time alone."""
    keys = ApiKey.objects.filter(revoked_at=None, expires_at__lte=clock.now())
    rows = _some(keys, hashes, "secret_sha256")
    return set(rows.values_list("secret_sha256", flat=True))


def _ids(named: Named | None, kind: str) -> Collection[str] | None:
    return None if named is None else named.get(kind, ())


def _some(rows: QuerySet[Row], ids: Collection[str] | None, by: str = "id") -> QuerySet[Row]:
    if ids is None:
        return rows
    return rows.filter(**{f"{by}__in": ids}) if ids else rows.none()


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def _models(
    environments: Mapping[str, dict[str, str]], ids: Collection[str] | None
) -> dict[str, Any]:
    return {
        model.id: {
            "name": model.name,
            "team_id": model.team_id,
            "environments": environments.get(model.id, {}),
        }
        for model in _some(ServedModel.objects.order_by("id"), ids)
    }


def _environments(model_ids: Collection[str] | None) -> Mapping[str, dict[str, str]]:
    """Return model → environment → deployment; a first candidate is already named, and waits."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    rows = Environment.objects.exclude(current=None, candidate=None).order_by("id")
    for row in _some(rows, model_ids, "model_id"):
        deployment_id = row.current_id or row.candidate_id
        if deployment_id is not None:
            found[row.model_id][row.name] = deployment_id
    return found


def _named_by(ids: Collection[str] | None) -> dict[str, str]:
    """Return deployment → the environment that points at it, the last one made of several."""
    rows = Environment.objects.annotate(points_at=Coalesce("current_id", "candidate_id"))
    found = _some(rows.exclude(points_at=None).order_by("model_id", "id"), ids, "points_at")
    return dict(found.values_list("points_at", "name"))


def _deployments(ids: Collection[str] | None, tables: dict[str, Any]) -> dict[str, Any]:
    """Return what gateways know of each; the route tables that they name go into `tables`."""
    environment_of, versions = _named_by(ids), _versions(ids)
    rows = _some(Deployment.objects.select_related("model").order_by("id"), ids)
    return {
        deployment.id: {
            "model_id": deployment.model_id,
            "name": deployment.name,
            "status": deployment.state.upper(),
            "environment": environment_of.get(deployment.id),
            "served_model_name": served_model_name(deployment),
            "predict_route": predict_route(deployment),
            "adapters": adapter_names(deployment),
            "shares_prefixes": shares_prefixes(deployment),
            "salts_every_route": _is(deployment, "salts_every_route"),
            "default_max_tokens": default_max_tokens(deployment),
            "has_own_words": _is(deployment, "non_openai_dialect"),
            "route_table": _route_table(deployment.runtime, versions.get(deployment.id), tables),
            "extra_routes": extra_routes(deployment),
        }
        for deployment in _with_checkpoints(rows)
    }


def _is(deployment: Deployment, trait: str) -> bool:
    return bool(getattr(RUNTIMES.get(deployment.runtime), trait, False))


def _with_checkpoints(rows: QuerySet[Deployment]) -> Iterator[Deployment]:
    """Return the rows, with checkpoints only where a route depends on it: they are large."""
    found = list(rows.only(*_READ_OF_DEPLOYMENTS))
    encoders = [each.id for each in found if is_encoder(each)]
    known = Deployment.objects.filter(id__in=encoders).values_list("id", "checkpoint")
    checkpoints = dict(known) if encoders else {}
    for each in found:
        each.checkpoint = checkpoints.get(each.id)
        yield each


def _route_table(runtime: str, version: str | None, tables: dict[str, Any]) -> str:
    """Return the table's name; tables are few and deployments many."""
    found = open_routes(runtime, version)
    name = f"{runtime} {found.of_version}" if found.of_version else "hosted"
    if name not in tables:
        tables[name] = {path: sorted(methods) for path, methods in sorted(found.routes.items())}
    return name


def _ready() -> QuerySet[Replica]:
    return Replica.objects.filter(
        state=ReplicaState.READY, wanted="running", port__isnull=False
    ).order_by("id")


def _replicas(ids: Collection[str] | None) -> dict[str, Any]:
    """Return where replicas answer, and where those of silent nodes may."""
    columns = ("id", "deployment_id", "host", "port")
    ready = {
        id: {"deployment_id": deployment_id, "host": host, "port": port}
        for id, deployment_id, host, port in _some(_ready(), ids).values_list(*columns)
    }
    return ready | _suspects(ids)


def _versions(deployment_ids: Collection[str] | None) -> dict[str, str]:
    """Return by deployment which version the first ready replica told."""
    versions: dict[str, str] = {}
    rows = _some(_ready(), deployment_ids, "deployment_id")
    for deployment_id, told in rows.values_list("deployment_id", KT("report__version")):
        if told:
            versions.setdefault(deployment_id, told)
    return versions


def _suspects(ids: Collection[str] | None) -> dict[str, Any]:
    """Return what served on nodes that are silent, and how each tells who it is."""
    columns = ("deployment_id", "host", "port", "probe_port", "generation")
    rows = _some(_lost(), ids).annotate(boot_id=F("node__boot_id"))
    return {
        row.pop("id"): {"is_suspect": True, **row} for row in rows.values("id", *columns, "boot_id")
    }


def _lost() -> QuerySet[Replica]:
    return Replica.objects.filter(
        state=ReplicaState.LOST,
        wanted="running",
        ready_at__isnull=False,
        draining_since=None,
        port__isnull=False,
        probe_port__isnull=False,
    ).order_by("id")


def _usable_keys() -> QuerySet[ApiKey]:
    return (
        ApiKey.objects.filter(revoked_at=None)
        .filter(Q(expires_at=None) | Q(expires_at__gt=clock.now()))
        .filter(Q(owner=None) | Q(owner__is_active=True))
        .order_by("id")
    )


def _keys(hashes: Collection[str] | None) -> dict[str, Any]:
    return {
        key.secret_sha256: {
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
        }
        for key in _some(_usable_keys(), hashes, "secret_sha256")
    }

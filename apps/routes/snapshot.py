"""What gateways know: models, deployments, ready replicas and key hashes, in one JSON value."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.routes_version import routes_version_current
from apps.deployments.models import Deployment, Environment, Replica, ServedModel
from apps.deployments.selectors import (
    adapter_names,
    default_max_tokens,
    extra_routes,
    predict_route,
    served_model_name,
    shares_prefixes,
    told_version,
)
from controlplane import clock
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.runtimes import OF_OWN_WORDS, SALTED_EVERYWHERE
from controlplane.domain.runtimes.open_routes import open_routes

FORMAT = 1
_SCOPES = {
    ApiKeyType.PERSONAL: "full",
    ApiKeyType.WORKSPACE_MANAGE_ALL: "full",
    ApiKeyType.WORKSPACE_INVOKE: "invoke",
    ApiKeyType.WORKSPACE_EXPORT_METRICS: "metrics",
}


def routes_snapshot() -> dict[str, Any]:
    """Return the snapshot with the version it belongs to.

    The version is read first: what is read after it is at least as new, so a gateway that has
    applied a version has seen every change that came with it.
    """
    version = routes_version_current()
    tables: dict[str, Any] = {}
    models = _models(tables)
    return {
        "format": FORMAT,
        "version": version,
        "route_tables": tables,
        "models": models,
        "keys": _keys(),
    }


def _models(tables: dict[str, Any]) -> dict[str, Any]:
    environments = _environments()
    deployments = _deployments(_named_by(environments), tables)
    return {
        model.id: {
            "name": model.name,
            "team_id": model.team_id,
            "environments": environments.get(model.id, {}),
            "deployments": deployments.get(model.id, {}),
        }
        for model in ServedModel.objects.order_by("id")
    }


def _environments() -> Mapping[str, dict[str, str]]:
    """Return model → environment → deployment; a first candidate is already named, and waits."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    rows = Environment.objects.exclude(current=None, candidate=None).order_by("id")
    for row in rows:
        deployment_id = row.current_id or row.candidate_id
        if deployment_id is not None:
            found[row.model_id][row.name] = deployment_id
    return found


def _named_by(environments: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        deployment_id: name
        for places in environments.values()
        for name, deployment_id in places.items()
    }


def _deployments(
    environment_of: Mapping[str, str], tables: dict[str, Any]
) -> Mapping[str, dict[str, Any]]:
    """Return what gateways know of each; the route tables that they name go into `tables`."""
    replicas, versions = _replicas()
    suspects = _suspects()
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for deployment in Deployment.objects.select_related("model").order_by("id"):
        found[deployment.model_id][deployment.id] = {
            "name": deployment.name,
            "status": deployment.state.upper(),
            "environment": environment_of.get(deployment.id),
            "served_model_name": served_model_name(deployment),
            "predict_route": predict_route(deployment),
            "adapters": adapter_names(deployment),
            "shares_prefixes": shares_prefixes(deployment),
            "salts_every_route": deployment.runtime in SALTED_EVERYWHERE,
            "default_max_tokens": default_max_tokens(deployment),
            "has_own_words": deployment.runtime in OF_OWN_WORDS,
            "route_table": _route_table(deployment.runtime, versions.get(deployment.id), tables),
            "extra_routes": extra_routes(deployment),
            "replicas": replicas.get(deployment.id, []),
        }
        if deployment.id in suspects:
            found[deployment.model_id][deployment.id]["suspects"] = suspects[deployment.id]
    return found


def _route_table(runtime: str, version: str | None, tables: dict[str, Any]) -> str:
    """Return the table's name; tables are few and deployments many."""
    found = open_routes(runtime, version)
    name = f"{runtime} {found.of_version}" if found.of_version else "hosted"
    if name not in tables:
        tables[name] = {path: sorted(methods) for path, methods in sorted(found.routes.items())}
    return name


def _replicas() -> tuple[Mapping[str, list[dict[str, Any]]], Mapping[str, str]]:
    """Return by deployment where its replicas answer, and what version the first ones told."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    versions: dict[str, str] = {}
    ready = Replica.objects.filter(
        state=ReplicaState.READY, wanted="running", port__isnull=False
    ).order_by("id")
    for replica in ready:
        found[replica.deployment_id].append(
            {"id": replica.id, "host": replica.host, "port": replica.port}
        )
        if told := told_version(replica):
            versions.setdefault(replica.deployment_id, told)
    return found, versions


def _suspects() -> Mapping[str, list[dict[str, Any]]]:
    """Return by deployment what served on nodes that are silent, and how each tells who it is.

    Beside the replicas: a gateway that knows none must not take them for ready.
    """
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    served = Replica.objects.filter(
        state=ReplicaState.LOST,
        wanted="running",
        ready_at__isnull=False,
        draining_since=None,
        port__isnull=False,
        probe_port__isnull=False,
    )
    for replica in served.select_related("node").order_by("id"):
        found[replica.deployment_id].append(
            {
                "id": replica.id,
                "host": replica.host,
                "port": replica.port,
                "probe_port": replica.probe_port,
                "generation": replica.generation,
                "boot_id": replica.node.boot_id,
            }
        )
    return found


def _keys() -> dict[str, Any]:
    usable = (
        ApiKey.objects.filter(revoked_at=None)
        .filter(Q(expires_at=None) | Q(expires_at__gt=clock.now()))
        .filter(Q(owner=None) | Q(owner__is_active=True))
    )
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
        for key in usable.order_by("id")
    }

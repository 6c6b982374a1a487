"""The routes as gateways of the release before read them: everything in one nested JSON value."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from apps.accounts.routes_version import routes_version_current
from apps.routes.rows import routes_rows

FORMAT_BEFORE = 1
_HALF_PERCENT = 50


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
        fields = {"id": id, **_without(row, "deployment_id", "is_suspect")}
        replicas[row["deployment_id"]][kind].append(fields)
    deployments: dict[str, dict[str, Any]] = defaultdict(dict)
    for id, row in rows["deployments"].items():
        fields = _without(row, "model_id") | {"replicas": [], **replicas.get(id, {})}
        deployments[row["model_id"]][id] = fields
    models = {
        id: {**_without_shares(row), "deployments": deployments.get(id, {})}
        for id, row in rows["models"].items()
    }
    return {
        "format": FORMAT_BEFORE,
        "version": version,
        "route_tables": rows["route_tables"],
        "models": models,
        "keys": rows["keys"],
    }


def _without_shares(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model as gateways read it that know no shares: all to whoever has more."""
    places = dict(row["environments"])
    for name, share in row.get("shares", {}).items():
        if share["percent"] > _HALF_PERCENT:
            places[name] = share["candidate"]
    return {**_without(row, "shares", "sampling"), "environments": places}


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}

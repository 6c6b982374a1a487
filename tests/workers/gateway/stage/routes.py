"""Tables of routes, as a control plane publishes them."""

import hashlib
from typing import Any

from controlplane.domain.runtimes.native.capabilities import VERSION
from controlplane.domain.runtimes.open_routes import open_routes

KEY = "tested00.0123456789abcdef"
METRICS_KEY = "metric00.0123456789abcdef"
FOREIGN_KEY = "foreign0.0123456789abcdef"
FOREIGN_METRICS_KEY = "forme000.0123456789abcdef"
STAGING_KEY = "staging0.0123456789abcdef"
EXPIRED_KEY = "expired0.0123456789abcdef"
CHAT = "/m/modelaaa/environments/production/sync/v1/chat/completions"

NATIVE = f"native {VERSION}"
_TABLES = {
    f"{runtime} {version}": {
        path: sorted(methods) for path, methods in open_routes(runtime, version).routes.items()
    }
    for runtime, version in (("vllm", "0.25"), ("native", VERSION))
}


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def key_row(id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "prefix": id,
        "scope": "invoke",
        "team_id": "teamaaaa",
        "model_ids": None,
        "environments": None,
        "expires_at": None,
        "limits": {"requests_per_minute": None, "parallel_requests": None},
    } | changes


def deployment_row(*ports: int, **changes: Any) -> dict[str, Any]:
    replicas = [{"id": f"rep{n:02}", "host": "127.0.0.1", "port": p} for n, p in enumerate(ports)]
    return {
        "name": "deployment-1",
        "status": "ACTIVE",
        "environment": "production",
        "served_model_name": "served",
        "predict_route": "/v1/chat/completions",
        "adapters": ["polite"],
        "route_table": "vllm 0.25",
        "extra_routes": ["/echo", "/file", "/reset", "/inference/v1/generate", "/invocations"],
        "replicas": replicas,
    } | changes


def routes(*ports: int, version: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "version": version,
        "route_tables": _TABLES,
        "models": {
            "modelaaa": {
                "name": "answers",
                "team_id": "teamaaaa",
                "environments": {"production": "deploy01"},
                "deployments": {
                    "deploy01": deployment_row(*ports, **changes),
                    "sleeping": deployment_row(status="SCALED_TO_ZERO", environment=None),
                    "stopped0": deployment_row(status="INACTIVE", environment=None),
                },
            },
            "modelbbb": {
                "name": "foreign",
                "team_id": "teambbbb",
                "environments": {"production": "deploy02"},
                "deployments": {"deploy02": deployment_row(*ports)},
            },
        },
        "keys": {
            digest(KEY): key_row("keyaaaaa"),
            digest(METRICS_KEY): key_row("keymetri", scope="metrics"),
            digest(FOREIGN_METRICS_KEY): key_row("keyforme", scope="metrics", team_id="teambbbb"),
            digest(FOREIGN_KEY): key_row("keybbbbb", team_id="teambbbb"),
            digest(STAGING_KEY): key_row("keystagi", environments=["staging"]),
            digest(EXPIRED_KEY): key_row("keyexpir", expires_at=1.0),
        },
    }

"""Routes to one deployment with several replicas."""

import hashlib
from collections.abc import Sequence
from typing import Any

from benchmarks.gateway_parts.processes import KEY

PATH = "/m/model000/environments/production/sync/v1/chat/completions"


def routes_to(ports: Sequence[int]) -> dict[str, Any]:
    """Return what a control plane publishes of them."""
    replicas = [{"id": f"rep{n:02}", "host": "127.0.0.1", "port": p} for n, p in enumerate(ports)]
    deployment = {
        "name": "deployment-1", "status": "ACTIVE", "environment": "production",
        "served_model_name": None, "predict_route": "/v1/chat/completions",
        "adapters": [], "replicas": replicas,
    }  # fmt: skip
    model = {
        "name": "model", "team_id": "team0000", "environments": {"production": "deploy00"},
        "deployments": {"deploy00": deployment},
    }  # fmt: skip
    key = {
        "id": "key00000", "prefix": "bench000", "scope": "invoke", "team_id": "team0000",
        "model_ids": None, "environments": None, "expires_at": None, "limits": {},
    }  # fmt: skip
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    return {"format": 1, "version": 1, "models": {"model000": model}, "keys": {digest: key}}

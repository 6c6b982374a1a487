from typing import Any

from apps.deployments.models import Deployment
from apps.deployments.selectors import DEGRADED


def conditions_of(deployment: Deployment) -> list[dict[str, Any]]:
    """Return the deployment's conditions; it comes from `deployment_list`, or none is counted."""
    if deployment.degraded_since is None:
        return []
    failure = deployment.failure or {}
    return [
        {
            "type": DEGRADED.upper(),
            "since": deployment.degraded_since,
            "reason": failure.get("code", ""),
            "message": f"{ready_words(deployment)} {failure.get('sentence', '')}".strip(),
        }
    ]


def ready_words(deployment: Deployment) -> str:
    ready, desired = getattr(deployment, "active_replica_count", 0), deployment.wanted_replicas
    return f"{ready} of {desired} replicas {'is' if ready == 1 else 'are'} ready."

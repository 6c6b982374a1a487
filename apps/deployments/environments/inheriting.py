"""What a deployment takes over from the environment that now points at it: its size, its queue."""

from collections.abc import Mapping
from typing import Any

from apps.deployments.environments.capacity import requested_replicas
from apps.deployments.models import Deployment, Environment


def settings_inherit(environment: Environment, candidate: Deployment) -> bool:
    """Return whether the candidate now wants another number of replicas."""
    _inherit_backpressure(environment, candidate)
    return _inherit_size(environment, candidate)


def _inherit_size(environment: Environment, candidate: Deployment) -> bool:
    settings = environment.autoscaling_settings
    if settings:
        replicas = _scale_of(settings, candidate)
    elif environment.current is not None and requested_replicas(environment, candidate) is None:
        replicas = _replicas_of(environment.current, candidate)
    else:
        return False
    changes = {name: value for name, value in replicas.items() if getattr(candidate, name) != value}
    if changes:
        Deployment.objects.filter(id=candidate.id).update(**changes)
    return "wanted_replicas" in changes


def _inherit_backpressure(environment: Environment, candidate: Deployment) -> None:
    policy = environment.backpressure_policy
    if policy and policy != candidate.backpressure_policy:
        Deployment.objects.filter(id=candidate.id).update(backpressure_policy=policy)


def _scale_of(settings: Mapping[str, Any], candidate: Deployment) -> dict[str, Any]:
    low, high = int(settings.get("min_replica", 0)), int(settings.get("max_replica", 1))
    others = {key: value for key, value in settings.items() if not key.endswith("_replica")}
    return {
        "min_replica": low,
        "max_replica": high,
        "wanted_replicas": max(1, low, min(candidate.wanted_replicas, high)),
        "autoscaling": {**candidate.autoscaling, **others},
    }


def _replicas_of(current: Deployment, candidate: Deployment) -> dict[str, Any]:
    low, high = current.min_replica, current.max_replica
    replicas = max(1, low, candidate.wanted_replicas)
    return {"min_replica": low, "max_replica": high, "wanted_replicas": replicas}

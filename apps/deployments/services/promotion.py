"""How an environment comes to point at another deployment.

1. `environment_promote` names the candidate, whose replicas start.
2. Once the candidate is ready, routes point at it; the old deployment keeps running.
3. Once every live gateway works by those routes, the old one is cleaned up as the environment says.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.models import Deployment, Environment
from apps.fleet.selectors import gateways_have_applied
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState

CLEANUPS = ("SCALE_TO_ZERO", "KEEP", "DEACTIVATE")
PROMOTION_DEFAULTS: Mapping[str, Any] = {
    "redeploy_on_promotion": False,
    "rolling_deploy": False,
    "promotion_cleanup_strategy": "SCALE_TO_ZERO",
    "rolling_deploy_config": None,
    "ramp_up_while_promoting": False,
    "ramp_up_duration_seconds": 600,
}
"""Source: the hosted product's management API, promotion_settings, read 2026-08-22."""


def promotion_settings(environment: Environment) -> dict[str, Any]:
    """Return the environment's own settings over the defaults."""
    return {**PROMOTION_DEFAULTS, **environment.promotion_settings}


@transaction.atomic
def environment_advance(*, environment_id: int) -> list[str]:
    """Take the next step of a promotion and return the deployments that it lets go."""
    rows = Environment.objects.select_for_update(no_key=True).filter(id=environment_id)
    environment = rows.first()
    if environment is None:
        return []
    _lock_deployments(environment)
    if environment.candidate is not None:
        _advance_candidate(environment, environment.candidate)
    if environment.promotion_version is None:
        return []
    if not gateways_have_applied(environment.promotion_version):
        return []
    return _finish(environment)


def _lock_deployments(environment: Environment) -> None:
    # Before the routes, which are held to the end of a transaction that has changed one.
    ids = [environment.candidate_id, environment.current_id, environment.retiring_id]
    mine = Deployment.objects.filter(id__in=[each for each in ids if each]).order_by("id")
    list(mine.select_for_update(no_key=True))


def _advance_candidate(environment: Environment, candidate: Deployment) -> None:
    if candidate.state in DEPLOYMENT_TERMINAL:
        _fail(environment, candidate)
    elif candidate.state == DeploymentState.ACTIVE and environment.promotion_version is None:
        _switch(environment, candidate)


def _fail(environment: Environment, candidate: Deployment) -> None:
    reason = (candidate.failure or {}).get("sentence", f"it is {candidate.state}")
    environment.candidate = None
    environment.promotion = {
        "status": "FAILED",
        "percent_traffic_to_new_version": 0,
        "error_message": f"Deployment `{candidate.name}` did not become ready: {reason}",
    }
    environment.save(update_fields=["candidate", "promotion"])
    routes_version_bump()


def _switch(environment: Environment, candidate: Deployment) -> None:
    if environment.autoscaling_settings:
        _inherit_scale(candidate, environment.autoscaling_settings)
    environment.retiring_id = environment.current_id
    environment.current = candidate
    environment.candidate = None
    environment.promotion = {
        **(environment.promotion or {}),
        "percent_traffic_to_new_version": 100,
    }
    environment.promotion_version = routes_version_bump()
    environment.save(
        update_fields=["retiring", "current", "candidate", "promotion", "promotion_version"]
    )


def _inherit_scale(candidate: Deployment, settings: Mapping[str, Any]) -> None:
    low, high = int(settings.get("min_replica", 1)), int(settings.get("max_replica", 1))
    others = {key: value for key, value in settings.items() if not key.endswith("_replica")}
    Deployment.objects.filter(id=candidate.id).update(
        min_replica=low,
        max_replica=high,
        wanted_replicas=max(1, low),
        autoscaling={**candidate.autoscaling, **others},
    )


def _finish(environment: Environment) -> list[str]:
    retiring = environment.retiring
    keep_previous = (environment.promotion or {}).get("keep_previous", False)
    environment.retiring = None
    environment.promotion = None
    environment.promotion_version = None
    environment.save(update_fields=["retiring", "promotion", "promotion_version"])
    cleanup = promotion_settings(environment)["promotion_cleanup_strategy"]
    if retiring is None or keep_previous or cleanup == "KEEP" or _is_needed(retiring):
        return []
    changes: dict[str, Any] = {"wanted_replicas": 0}
    if cleanup == "DEACTIVATE":
        changes["state"] = DeploymentState.DEACTIVATING
    Deployment.objects.filter(id=retiring.id).exclude(state__in=DEPLOYMENT_TERMINAL).update(
        **changes
    )
    return [retiring.id]


def _is_needed(deployment: Deployment) -> bool:
    """Whether another environment points at the deployment, or is about to."""
    return any(places.exists() for places in (deployment.current_of, deployment.candidate_of))

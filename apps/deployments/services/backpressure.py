"""What becomes of requests beyond what a deployment's replicas carry; its environments keep it."""

from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.models import Deployment, Environment
from apps.rest.errors import InvalidInput

POLICIES = ("QUEUE_ON_FULL", "REJECT_ON_FULL")


def backpressure_settings(policy: str | None) -> dict[str, Any]:
    return {"policy": policy or None}


def backpressure_route(deployment: Deployment) -> dict[str, Any] | None:
    """Return what gateways are told: the policy and what a replica carries; None without one."""
    if not deployment.backpressure_policy:
        return None
    carried = settings_of(deployment).concurrency_target
    return {"policy": deployment.backpressure_policy, "concurrency": carried}


@transaction.atomic
def backpressure_update(*, deployment: Deployment, policy: str | None) -> Deployment:
    """Return the deployment with the policy, which gateways follow within a second.

    Raises InvalidInput.
    """
    _refuse_unknown(policy)
    places = Environment.objects.select_for_update(no_key=True).filter(current=deployment)
    environments = list(places.order_by("id"))
    row = Deployment.objects.select_for_update(no_key=True).get(id=deployment.id)
    before, row.backpressure_policy = row.backpressure_policy, policy or ""
    row.save(update_fields=["backpressure_policy"])
    for environment in environments:
        environment.backpressure_policy = row.backpressure_policy
        environment.save(update_fields=["backpressure_policy"])
    if row.backpressure_policy != before:
        audit(
            "deployment.backpressure",
            row,
            team=row.model.team,
            label=f"{row.model.name}/{row.name}",
            before=backpressure_settings(before),
            after=backpressure_settings(policy),
        )
        routes_version_bump(deployments=[row.id])
    return row


def _refuse_unknown(policy: str | None) -> None:
    if policy and policy not in POLICIES:
        raise InvalidInput(
            f"`{policy}` is no policy.",
            fields=["policy"],
            hint="Send `QUEUE_ON_FULL`, `REJECT_ON_FULL` or null.",
        )

"""A deployment that sleeps is started at once when it is asked for, between two rounds too."""

import logging
from collections.abc import Collection
from typing import Any

from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.autoscaling.models import ScalingDecision
from apps.deployments.checks import refuse_ungranted_code
from apps.deployments.models import Deployment
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import ApiError
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.lifecycle import DeploymentState
from controlplane.domain.scaling.reasons import ReasonCode

_SLEEPING = (DeploymentState.SCALED_TO_ZERO, DeploymentState.ACTIVE, DeploymentState.UNHEALTHY)
"""The last two while the last replica leaves."""
ASKED = "A client asked for it to be woken."
WAITED = "A request waits for a replica."
_log = logging.getLogger(__name__)


def deployments_wake(*, ids: Collection[str], why: str = ASKED, clock: Clock = SYSTEM) -> list[str]:
    """Return those of these that slept and now start; others are left as they are."""
    asleep = Deployment.objects.filter(id__in=ids, wanted_replicas=0, state__in=_SLEEPING)
    return [each.id for each in asleep.order_by("id") if _wake_alone(each, why, clock)]


def _wake_alone(deployment: Deployment, why: str, clock: Clock) -> bool:
    try:
        return deployment_wake(deployment=deployment, why=why, clock=clock)
    except ApiError as error:
        _log.warning("deployment %s is not woken: %s", deployment.id, error)
        return False


@transaction.atomic
def deployment_wake(*, deployment: Deployment, why: str, clock: Clock = SYSTEM) -> bool:
    """Return whether it was this call that woke it. Raises Conflict for code nobody lets run."""
    replicas = max(1, deployment.min_replica)
    asleep = Deployment.objects.filter(id=deployment.id, wanted_replicas=0, state__in=_SLEEPING)
    if not asleep.update(**woken_values(deployment), wanted_replicas=replicas):
        return False
    ScalingDecision.objects.create(
        deployment=deployment, at=clock.now(), code=ReasonCode.WOKEN, sentence=why,
        before=0, after=replicas, by_load=0, requests=0, tokens=0,
    )  # fmt: skip
    routes_version_bump(deployments=[deployment.id])
    deployment_settle_after_commit(deployment_id=deployment.id)
    return True


def woken_values(deployment: Deployment) -> dict[str, Any]:
    """Return what a deployment that wakes begins with. Raises Conflict for code nobody lets run."""
    refuse_ungranted_code(deployment.artifact)
    return {
        "state": DeploymentState.WAKING_UP,
        "failure": None,
        "last_failure": None,
        "degraded_since": None,
        "start_failures": 0,
    }

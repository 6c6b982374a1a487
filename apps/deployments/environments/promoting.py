"""A person's or a program's wish to promote."""

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.promotion import promotion_settings
from apps.deployments.environments.services import (
    deployment_may_be_promoted,
    environment_audit,
    environment_name_candidate,
)
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.services.deployments import deployment_activate, deployment_copy
from apps.deployments.services.reconcile import deployment_settle


@transaction.atomic
def environment_promote(
    *,
    environment: Environment,
    deployment: Deployment,
    scale_down_previous: bool = True,
    user: User | None = None,
) -> Deployment:
    """Return the deployment that `environment` is now on its way to.

    It is a copy where the given one already serves another environment. Raises Conflict.
    """
    _lock(environment, deployment)
    deployment_may_be_promoted(deployment, environment)
    places = Environment.objects.exclude(id=environment.id)
    elsewhere = places.filter(current=deployment) | places.filter(candidate=deployment)
    wants_new = promotion_settings(environment)["redeploy_on_promotion"]
    candidate = deployment
    if wants_new or elsewhere.exists():
        candidate = deployment_copy(deployment=deployment, user=user)
    environment_name_candidate(
        model_id=environment.model_id,
        name=environment.name,
        to=candidate,
        keep_previous=not scale_down_previous,
    )
    environment_audit(
        "promote",
        environment,
        before={"deployment": environment.current_id},
        after={"deployment": candidate.id},
    )
    deployment_activate(deployment=candidate)
    # The environment names its first candidate from now on.
    routes_version_bump(models=[candidate.model_id], deployments=[candidate.id])
    transaction.on_commit(lambda: deployment_settle(deployment_id=candidate.id), robust=True)
    return candidate


def _lock(environment: Environment, deployment: Deployment) -> None:
    """Lock what the promotion may change, in the order that holds everywhere.

    Model, environment, deployment, and routes last: whoever has changed one holds them to the end
    of the transaction, and must not wait for anything else in it.
    """
    for rows in (
        ServedModel.objects.filter(id=environment.model_id),
        Environment.objects.filter(id=environment.id),
        Deployment.objects.filter(id=deployment.id),
    ):
        list(rows.select_for_update(no_key=True).values_list("id"))

"""Deployments that go, and what keeps one from it."""

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.models import Deployment, Replica
from apps.deployments.services.deployments import deployment_audit, locked_with_environments
from apps.rest.errors import Conflict
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, REPLICA_TERMINAL, ReplicaState


@transaction.atomic
def deployment_delete(*, deployment: Deployment) -> None:
    """Remove the deployment. Raises Conflict while it runs or an environment points at it."""
    row = locked_with_environments(deployment)
    places = [*row.current_of.all(), *row.candidate_of.all()]
    if row.state not in DEPLOYMENT_TERMINAL and places:
        names = ", ".join(f"`{place.name}`" for place in places)
        raise Conflict(
            f"Environment {names} points at deployment `{row.name}`.",
            hint="Promote another deployment there, or deactivate this one first.",
        )
    live = Replica.objects.filter(deployment=row).exclude(state__in=REPLICA_TERMINAL)
    if live.exists():
        raise Conflict(
            f"Deployment `{row.name}` still runs.",
            hint=silent_holders(live) or "Deactivate it, and delete it when it has.",
        )
    deployment_audit("delete", row, before={"state": row.state})
    named = {id for place in places for id in (place.current_id, place.candidate_id) if id}
    deleted_id = row.id
    row.delete()
    routes_version_bump(models=[row.model_id], deployments={deleted_id, *named})


def silent_holders(live: QuerySet[Replica]) -> str:
    """Return what to do where only silent nodes keep these replicas; else an empty text."""
    if live.exclude(state=ReplicaState.LOST).exists():
        return ""
    names = sorted(set(live.values_list("node__name", flat=True)))
    nodes = ", ".join(f"`{name}`" for name in names)
    return (
        f"What is left of it is on {nodes}, silent: it goes when that speaks again, or when an "
        "admin of the organisation removes the node."
    )

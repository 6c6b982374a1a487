"""Bring one deployment nearer to what is wanted of it."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.promotion import environment_advance
from apps.deployments.failures import unexplained
from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.plan import decide, ready_count, state_after
from apps.deployments.queue import nodes_nudge
from apps.deployments.services.follow_up import follow_up_store
from apps.deployments.services.placement import Placed, replicas_place
from apps.deployments.services.replicas import replicas_drain, replicas_stop
from apps.fleet.selectors import gateways_have_applied, nodes_draining
from apps.fleet.services.nodes import node_wanted_version_bump, nodes_lock
from controlplane import clock
from controlplane.domain.lifecycle import REPLICA_TERMINAL, DeploymentState, ReplicaState


def deployment_settle(*, deployment_id: str, room: str = "") -> bool:
    """Reconcile the deployment, then the environments that wait for it and what they let go.

    `room` is what the fleet offered before. Return whether the deployment itself was moved.
    """
    moved = deployment_reconcile(deployment_id=deployment_id, room=room)
    waiting = Environment.objects.filter(
        Q(candidate_id=deployment_id)
        | Q(retiring_id=deployment_id)
        | Q(current_id=deployment_id, promotion_version__isnull=False)
        | Q(current_id=deployment_id, candidate__isnull=False)
    )
    for environment_id in waiting.values_list("id", flat=True):
        for released_id in environment_advance(environment_id=environment_id):
            deployment_reconcile(deployment_id=released_id)
    return moved


@transaction.atomic
def deployment_reconcile(*, deployment_id: str, room: str = "") -> bool:
    """Drain, stop and order replicas as the plan says, and store the state they amount to.

    Return whether anything was moved. Locks, always in this order: deployment, replicas, GPUs,
    nodes, routes.
    """
    held = Deployment.objects.select_for_update(no_key=True).filter(id=deployment_id)
    # What places a replica reads them; the rest does without.
    deployment = held.defer("spec", "checkpoint").first()
    if deployment is None:
        return False
    now = clock.now()
    replicas = replicas_of(deployment)
    decision = decide(
        deployment,
        replicas,
        now=now,
        draining=nodes_draining(node_ids={each.node_id for each in replicas}),
    )
    placed = replicas_place(deployment=deployment, count=decision.order)
    ordered = [each.replica for each in placed if each.replica is not None]
    if decision.drain:  # changes routes, for which others may wait while they hold a node
        nodes_lock(node_ids={each.node_id for each in [*replicas, *ordered]})
    replicas_drain(replicas=decision.drain)
    changed_nodes = {replica.node_id for replica in ordered}
    changed_nodes |= replicas_stop(replicas=[*decision.stop, *_drained(replicas)])
    if changed_nodes:
        node_wanted_version_bump(node_ids=changed_nodes)
        nodes_nudge(node_ids=changed_nodes)
    state = _store_state(deployment, [*replicas, *ordered], placed)
    moved = bool(changed_nodes or decision.drain or state != deployment.state)
    follow_up_store(
        deployment=deployment, replicas=replicas, placed=placed, moved=moved, room=room, now=now
    )
    return moved


def replicas_of(deployment: Deployment) -> list[Replica]:
    """Return the live replicas, locked, and the one that ended last where that matters."""
    mine = Replica.objects.filter(deployment=deployment)
    rows = mine.exclude(state__in=REPLICA_TERMINAL).order_by("id").select_for_update(no_key=True)
    live = list(rows)
    if not deployment.start_failures and ready_count(live) >= deployment.wanted_replicas:
        return live
    return [*live, *mine.filter(state__in=REPLICA_TERMINAL).order_by("-finished_at")[:1]]


def _drained(replicas: Sequence[Replica]) -> list[Replica]:
    return [
        replica
        for replica in replicas
        if replica.state in {ReplicaState.DRAINING, ReplicaState.LOST}
        and replica.wanted == "running"
        and replica.draining_since is not None
        and gateways_have_applied(replica.drain_version or 0)
    ]


def _store_state(
    deployment: Deployment, replicas: Sequence[Replica], placed: Sequence[Placed]
) -> DeploymentState:
    new = state_after(deployment, replicas)
    is_whole = ready_count(replicas) >= deployment.wanted_replicas
    changes: dict[str, object] = {}
    failure = None if is_whole else _failure(deployment, new, replicas, placed)
    if is_whole and deployment.last_failure is not None:
        changes["last_failure"] = None
    is_degraded = new is DeploymentState.ACTIVE and failure is not None
    if is_degraded != (deployment.degraded_since is not None):
        changes["degraded_since"] = Now() if is_degraded else None
    if failure != deployment.failure:
        changes["failure"] = failure
    if new != deployment.state:
        changes["state"] = new
        changes["active_since"] = Now() if new is DeploymentState.ACTIVE else None
        routes_version_bump(deployments=[deployment.id])
    if changes:
        Deployment.objects.filter(id=deployment.id, state=deployment.state).update(**changes)
    return new


def _failure(
    deployment: Deployment,
    state: DeploymentState,
    replicas: Sequence[Replica],
    placed: Sequence[Placed],
) -> object:
    """Return what to show as the reason that too few replicas are ready."""
    for each in placed:
        if each.failure is not None:
            return each.failure.to_json()
    if state is DeploymentState.ACTIVE:
        return deployment.last_failure  # none while replicas that were just asked for start
    ended = [each for each in replicas if each.state == ReplicaState.FAILED]
    if ended:
        return ended[-1].failure or unexplained().to_json()
    # A reason that still holds (no room, a failed build) stays until something is under way.
    return (
        None
        if any(each.state not in REPLICA_TERMINAL for each in replicas)
        else (deployment.failure)
    )

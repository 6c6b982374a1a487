"""Bring one deployment nearer to what is wanted of it."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.promotion import environment_advance
from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.plan import decide, ready_count, state_after
from apps.deployments.queue import nodes_nudge
from apps.deployments.services.follow_up import follow_up_store
from apps.deployments.services.placement import Placed, replicas_place
from apps.deployments.services.replicas import replicas_drain, replicas_stop
from apps.fleet.selectors import gateways_have_applied
from apps.fleet.services.nodes import node_wanted_version_bump, nodes_lock
from controlplane import clock
from controlplane.compiled_query import CompiledQuery
from controlplane.compiled_update import rows_update, update_of
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import REPLICA_TERMINAL, DeploymentState, ReplicaState

_LARGE = ("report", "metrics")
Moves = Callable[[Deployment, Sequence[Replica]], Collection[str]]
"""Moves single replicas of a deployment and returns the ids of those whose routes change by it."""


# What places a replica reads the two large fields; the rest does without.
_LOCKED = CompiledQuery(
    str,
    lambda id: (
        Deployment.objects.filter(id=id).defer("spec", "checkpoint").select_for_update(no_key=True)
    ),
)


def _waiting(deployment_id: Any) -> QuerySet[Environment]:
    """Return the environments that may go on once the deployment has moved."""
    return Environment.objects.filter(
        Q(candidate_id=deployment_id)
        | Q(retiring_id=deployment_id)
        | Q(current_id=deployment_id, promotion_version__isnull=False)
        | Q(current_id=deployment_id, candidate__isnull=False)
    )


_LIVE = CompiledQuery(
    str,
    lambda deployment_id: (
        Replica.objects.filter(deployment_id=deployment_id)
        .exclude(state__in=REPLICA_TERMINAL)
        .annotate(
            is_to_move=Q(node__draining_since__isnull=False),
            is_waited_for=Exists(_waiting(OuterRef("deployment_id"))),
        )
        .defer(*_LARGE)
        .order_by("id")
        .select_for_update(of=("self",), no_key=True)
    ),
)
_WAITING = CompiledQuery(str, lambda deployment_id: _waiting(deployment_id).only("id"))


class _Reconciled(NamedTuple):
    is_moved: bool
    is_waited_for: bool
    """By an environment, as it was while the deployment was held; who names it since, looks."""


def no_moves(_deployment: Deployment, _replicas: Sequence[Replica]) -> Collection[str]:
    return ()


def deployment_settle_after_commit(*, deployment_id: str) -> None:
    """Settle it once this transaction is over: that locks environments, which come before.

    What fails then is tried again by the sweep, and the change itself has been made.
    """
    transaction.on_commit(lambda: deployment_settle(deployment_id=deployment_id), robust=True)


def deployment_settle(*, deployment_id: str, room: str = "", first: Moves = no_moves) -> bool:
    """Reconcile the deployment, then the environments that wait for it and what they let go.

    `room` is what the fleet offered before. Return whether the deployment itself was moved.
    """
    reconciled = _reconcile(deployment_id, room, first)
    for environment in _WAITING.rows(deployment_id) if reconciled.is_waited_for else ():
        for released_id in environment_advance(environment_id=environment.id):
            deployment_reconcile(deployment_id=released_id)
    return reconciled.is_moved


def deployment_reconcile(*, deployment_id: str, room: str = "") -> bool:
    """Drain, stop and order replicas as the plan says, and store the state they amount to.

    Return whether anything was moved.
    """
    return _reconcile(deployment_id, room).is_moved


@transaction.atomic
def _reconcile(deployment_id: str, room: str, first: Moves = no_moves) -> _Reconciled:
    """Return what came of it; `first` comes before, in the same transaction.

    Locks, always in this order: deployment, replicas, failed starts, GPUs, nodes, routes.
    """
    deployment = _LOCKED.first(deployment_id)
    if deployment is None:
        return _Reconciled(is_moved=False, is_waited_for=True)
    now = clock.now()
    replicas = _live(deployment)
    # Each says it, since it is asked with them; where there is none, it has not been asked.
    is_waited_for = all(getattr(each, "is_waited_for", True) for each in replicas)
    rerouted = first(deployment, replicas)
    replicas = _with_ended(deployment, replicas)
    draining = {each.node_id for each in replicas if getattr(each, "is_to_move", False)}
    decision = decide(deployment, replicas, now=now, draining=draining)
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
    state = _store_state(deployment, [*replicas, *ordered], placed, rerouted)
    moved = bool(changed_nodes or decision.drain or state != deployment.state)
    follow_up_store(
        deployment=deployment, replicas=replicas, placed=placed, moved=moved, room=room, now=now
    )
    return _Reconciled(is_moved=moved, is_waited_for=is_waited_for)


@transaction.atomic
def replicas_move_alone(*, deployment_id: str, first: Moves) -> None:
    """Do what comes before reconciling, and no more: it holds where the rest cannot be done."""
    deployment = _LOCKED.first(deployment_id)
    if deployment is not None:
        rerouted = first(deployment, _live(deployment))
        if rerouted:
            routes_version_bump(replicas=rerouted, deployments=[deployment_id])


def _live(deployment: Deployment) -> list[Replica]:
    """Return the live replicas, locked, each with whether its node is to be left."""
    return [_of(deployment, each) for each in _LIVE.rows(deployment.id)]


def _of(deployment: Deployment, replica: Replica) -> Replica:
    replica.deployment = deployment
    return replica


def _with_ended(deployment: Deployment, replicas: Sequence[Replica]) -> list[Replica]:
    """Return those that still live, and the one that ended last where that matters."""
    live = [each for each in replicas if each.state not in REPLICA_TERMINAL]
    if deployment.start_failures or len(live) < len(replicas):
        deployment.refresh_from_db(fields=["start_failures", "last_failure"])
    if not deployment.start_failures and ready_count(live) >= deployment.wanted_replicas:
        return live
    ended = Replica.objects.filter(deployment=deployment, state__in=REPLICA_TERMINAL)
    return [*live, *ended.defer(*_LARGE).order_by("-finished_at")[:1]]


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
    deployment: Deployment,
    replicas: Sequence[Replica],
    placed: Sequence[Placed],
    rerouted: Collection[str],
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
    _store(
        deployment, changes, is_told=new != deployment.state or bool(rerouted), rerouted=rerouted
    )
    return new


def _store(
    deployment: Deployment, changes: dict[str, object], *, is_told: bool, rerouted: Collection[str]
) -> None:
    where = {"id": deployment.id, "state": deployment.state}
    if is_told:
        # Last of all locks, since every transaction that changes a route waits for this row.
        beside = [update_of(Deployment, changes, **where)] if changes else []
        routes_version_bump(deployments=[deployment.id], replicas=rerouted, beside=beside)
    elif changes:
        rows_update(Deployment, changes, **where)


def _failure(
    deployment: Deployment,
    state: DeploymentState,
    replicas: Sequence[Replica],
    placed: Sequence[Placed],
) -> object:
    for each in placed:
        if each.failure is not None:
            return each.failure.to_json()
    if state is DeploymentState.ACTIVE:
        return deployment.last_failure  # none while replicas that were just asked for start
    ended = [each for each in replicas if each.state == ReplicaState.FAILED]
    if ended:
        return ended[-1].failure or serving.UNEXPLAINED.failure().to_json()
    # A reason that still holds (no room, a failed build) stays until something is under way.
    return (
        None
        if any(each.state not in REPLICA_TERMINAL for each in replicas)
        else (deployment.failure)
    )

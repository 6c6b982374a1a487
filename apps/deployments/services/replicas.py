"""Moves of single replicas; the caller holds the lock of their deployment."""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.models import Deployment, Replica
from apps.fleet.services.devices import devices_release
from controlplane import clock
from controlplane.compiled_update import rows_update
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import REPLICA_TERMINAL, ReplicaState, may_move_replica

ENDED_KEPT = timedelta(days=7)
_IN_ROUTES = frozenset({ReplicaState.READY, ReplicaState.LOST})
_AFTER_ROUTES = {
    ReplicaState.READY: ReplicaState.DRAINING,
    ReplicaState.LOST: ReplicaState.LOST,
}


def replica_move(*, replica: Replica, to: ReplicaState, failure: Failure | None = None) -> bool:
    """Return whether the replica was moved: its old state is compared in the database.

    Gateways are told, so the caller locks nothing any more.
    """
    old = replica.state
    is_moved = replica_move_silently(replica=replica, to=to, failure=failure)
    if is_moved and changes_routes(old, to):
        routes_version_bump(replicas=[replica.id], deployments=[replica.deployment_id])
    return is_moved


def changes_routes(old: str, new: str) -> bool:
    return bool(_IN_ROUTES & {old, new})


def replica_move_silently(
    *, replica: Replica, to: ReplicaState, failure: Failure | None = None
) -> bool:
    """Return whether the replica was moved; the caller tells gateways in the same transaction."""
    old = ReplicaState(replica.state)
    if not may_move_replica(old, to):
        return False
    changes: dict[str, object] = {"state": to}
    if to is ReplicaState.READY:
        changes["ready_at"] = clock.now()
    if to is ReplicaState.LOST:
        failure = serving.NODE_SILENT.failure(node=replica.node.name)
    if to in REPLICA_TERMINAL:
        failure_json = failure.to_json() if failure else None
        changes |= {"finished_at": clock.now(), "failure": failure_json}
    if not rows_update(Replica, changes, id=replica.id, state=old):
        return False
    if failure is not None and replica.wanted == "running":
        _note_failure(replica, failure)
    _settle_accounts(replica, to)
    for name, value in changes.items():
        setattr(replica, name, value)
    return True


def replicas_stop(*, replicas: Iterable[Replica]) -> set[str]:
    """Mark these replicas to end, and return the ids of their nodes."""
    stopping = list(replicas)
    if not stopping:
        return set()
    Replica.objects.filter(id__in=[each.id for each in stopping]).update(wanted="stopped")
    for replica in stopping:
        replica.wanted = "stopped"
    return {replica.node_id for replica in stopping}


def replicas_drain(*, replicas: Iterable[Replica]) -> None:
    """Take replicas out of the routes; they end once every live gateway knows.

    A lost one stays lost meanwhile.
    """
    leaving = [each for each in replicas if each.state in _AFTER_ROUTES]
    if not leaving:
        return
    version = routes_version_bump(
        replicas=[each.id for each in leaving],
        deployments={each.deployment_id for each in leaving},
    )
    for replica in leaving:
        Replica.objects.filter(id=replica.id, state=replica.state).update(
            state=_AFTER_ROUTES[ReplicaState(replica.state)],
            draining_since=Now(),
            drain_version=version,
        )
        replica.refresh_from_db()


def replicas_prune() -> int:
    ended = Replica.objects.filter(state__in=REPLICA_TERMINAL)
    return ended.filter(finished_at__lt=clock.now() - ENDED_KEPT).delete()[0]


def _note_failure(replica: Replica, failure: Failure) -> None:
    Deployment.objects.filter(id=replica.deployment_id).update(last_failure=failure.to_json())


def _settle_accounts(replica: Replica, to: ReplicaState) -> None:
    if to in REPLICA_TERMINAL:
        devices_release(holder=replica.device_holder)
    deployments = Deployment.objects.filter
    if to is ReplicaState.READY:
        if replica.deployment.start_failures:
            deployments(id=replica.deployment_id).update(start_failures=0)
    elif to is ReplicaState.FAILED and replica.ready_at is None:
        failures = F("start_failures") + 1
        deployments(id=replica.deployment_id).update(start_failures=failures)

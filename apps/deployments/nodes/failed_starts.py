"""What is remembered of nodes on which an artifact failed to start.

Rows are locked after replicas and before GPUs, nodes and routes.
"""

from datetime import datetime

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.deployments.models import Deployment, FailedStarts, Replica
from apps.deployments.nodes.backoff import FORGOTTEN_AFTER, wait_after
from apps.fleet.models import Node
from controlplane import clock
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import ReplicaState


def failed_starts_follow(*, replica: Replica, to: ReplicaState, failure: Failure | None) -> None:
    """Remember a start that failed, or forget those before one that went well."""
    artifact_id = replica.deployment.artifact_id
    if artifact_id is None or replica.wanted != "running" or replica.ready_at is not None:
        return
    if to is ReplicaState.READY:
        FailedStarts.objects.filter(node_id=replica.node_id, artifact_id=artifact_id).delete()
    elif to is ReplicaState.FAILED:
        _remember(replica.node_id, artifact_id, failure, clock.now())


def failed_starts_retry_now(*, deployment: Deployment) -> bool:
    """Return whether a node was being passed over for the deployment's artifact, and is no more."""
    now = clock.now()
    rows = FailedStarts.objects.filter(artifact_id=deployment.artifact_id, retry_at__gt=now)
    ids = [row.id for row in rows.order_by("node_id").select_for_update(no_key=True)]
    return bool(FailedStarts.objects.filter(id__in=ids).update(retry_at=now))


@transaction.atomic
def failed_starts_clear(*, node: Node) -> int:
    cleared = FailedStarts.objects.filter(node=node).delete()[0]
    if cleared:
        audit("node.clear_failed_starts", node, team=None, before={"artifacts": cleared})
    return cleared


def failed_starts_prune() -> int:
    return FailedStarts.objects.filter(last_at__lte=clock.now() - FORGOTTEN_AFTER).delete()[0]


def _remember(node_id: str, artifact_id: str, failure: Failure | None, now: datetime) -> None:
    row, _ = FailedStarts.objects.select_for_update(no_key=True).get_or_create(
        node_id=node_id,
        artifact_id=artifact_id,
        defaults={"first_at": now, "last_at": now, "retry_at": now},
    )
    if row.last_at <= now - FORGOTTEN_AFTER:
        row.count, row.first_at = 0, now
    row.count += 1
    row.last_at, row.retry_at = now, now + wait_after(row.count)
    row.failure = failure.to_json() if failure else None
    row.save()

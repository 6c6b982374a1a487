"""What calls for a deployment again after it was reconciled: a mark, a moment, or room."""

from collections.abc import Sequence
from datetime import datetime

from apps.deployments.models import Deployment, Replica
from apps.deployments.plan import next_start_at, wanted_count
from apps.deployments.selectors import failed_starts_of
from apps.deployments.services.placement import Placed
from controlplane.compiled_update import rows_update


def follow_up_store(
    *,
    deployment: Deployment,
    replicas: Sequence[Replica],
    placed: Sequence[Placed],
    moved: bool,
    room: str,
    now: datetime,
) -> None:
    """Take the mark off where nothing was moved, and note what else the deployment waits for.

    The caller holds its lock, so a mark that comes meanwhile is set after this, and stays.
    """
    is_refused = any(each.failure is not None for each in placed)
    values: dict[str, object] = {
        "reconcile_at": _next_moment(deployment, replicas, is_refused, now),
        "room_seen": room if is_refused else None,
    }
    if not moved:
        values["marked_at"] = None
    if any(getattr(deployment, field) != value for field, value in values.items()):
        rows_update(Deployment, values, id=deployment.id)


def _next_moment(
    deployment: Deployment, replicas: Sequence[Replica], is_refused: bool, now: datetime
) -> datetime | None:
    if not wanted_count(deployment):
        return None
    moments = [next_start_at(deployment, replicas)]
    if is_refused:
        moments += failed_starts_of(deployment=deployment).values_list("retry_at", flat=True)
    return min((each for each in moments if each > now), default=None)

"""What the worker that carries a push out asks and writes; every write names its lease."""

from typing import Any

from apps.builds.models import ArtifactPush
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease
from apps.leases.services import lease_end, lease_held
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import PushState


def push_to_carry_out(*, push_id: str) -> ArtifactPush:
    return ArtifactPush.objects.select_related("artifact").get(id=push_id)


def push_progress(*, lease: Lease, done_bytes: int) -> None:
    """Store how far it is. Raises LeaseLost."""
    with lease_held(lease) as push:
        ArtifactPush.objects.filter(id=push.id).update(done_bytes=done_bytes)


def push_succeed(*, lease: Lease, result: dict[str, Any], done_bytes: int) -> bool:
    """Return whether it ended so; what a worker says whose lease was taken is dropped."""
    return _end(lease, PushState.SUCCEEDED, result=result, done_bytes=done_bytes)


def push_fail(*, lease: Lease, failure: Failure) -> bool:
    return _end(lease, PushState.FAILED, failure=failure.to_json())


def push_cancelled(*, lease: Lease) -> bool:
    return _end(lease, PushState.CANCELLED)


def _end(lease: Lease, state: PushState, **columns: Any) -> bool:
    return lease_end(lease=lease, state=state, finished_at=ClockTimestamp(), **columns)

from django.db import transaction

from apps.async_requests.models import AsyncRequest
from apps.async_requests.webhooks.writing import webhook_left_out
from apps.leases.services import TAKEN_AWAY
from controlplane import clock
from controlplane.domain.async_requests.states import AsyncStatus

CANCELED = "The request is canceled."
STOPPING = "The request is running and is being stopped: its answer will not be used."
ENDED = "The request has ended as {} and cannot be canceled."


@transaction.atomic
def async_request_cancel(*, request: AsyncRequest) -> tuple[bool, str]:
    """Return whether it is cancelled, and its state in words.

    A queued one ends at once; a running one is stopped by its worker, which looks every second.
    """
    rows, now = AsyncRequest.objects.filter(id=request.id), clock.now()
    if rows.filter(status=AsyncStatus.QUEUED).update(
        status=AsyncStatus.CANCELED, status_at=now, finished_at=now, cancel_requested_at=now,
        webhook_status=webhook_left_out(), **TAKEN_AWAY,
    ):  # fmt: skip
        return True, CANCELED
    running = rows.filter(status=AsyncStatus.IN_PROGRESS)
    if running.filter(cancel_requested_at=None).update(cancel_requested_at=now) or running.exists():
        return True, STOPPING
    request.refresh_from_db(fields=["status"])
    if request.status == AsyncStatus.CANCELED:
        return True, CANCELED
    return False, ENDED.format(request.status)

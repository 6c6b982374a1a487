from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.async_requests.models import AsyncRequest
from apps.async_requests.own_key import own_key_ensure
from apps.async_requests.webhooks.writing import webhook_left_out, webhooks_write
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on
from apps.leases.kinds import LeaseKind
from apps.leases.services import TAKEN_AWAY, leases_unheld
from controlplane.celery import ASYNC_QUEUE
from controlplane.domain.async_requests.states import OPEN, AsyncStatus, ErrorCode

KEY = "gateway_key"
"""What the holder of a request redeems: the key by which its team's queue asks."""
MOST_CLAIMS = 5
"""A request that ends its worker each time must not go round for ever."""
LOOKED_AT = 200
"""Of many thousands that may wait: a message stands for no request of its own."""


def _key_of(request: AsyncRequest) -> Mapping[str, str]:
    return {KEY: own_key_ensure(team=request.team)}


def _is_due() -> Q:
    now = ClockTimestamp()
    has_time = Q(attempts__gt=0) | Q(expires_at__gt=now)
    return (Q(next_attempt_at=None) | Q(next_attempt_at__lte=now)) & has_time


def _tidy() -> None:
    _expire()
    kept = timedelta(hours=settings.ASYNC_RESULTS_HOURS)
    AsyncRequest.objects.filter(finished_at__lt=ClockTimestamp() - kept).delete()


def _expire() -> None:
    """End those that waited too long for their first attempt."""
    late = leases_unheld(ASYNC_REQUEST).filter(attempts=0, expires_at__lte=ClockTimestamp())
    late.update(**_ended(AsyncStatus.EXPIRED), **TAKEN_AWAY)


def _ended(status: AsyncStatus) -> Mapping[str, Any]:
    """Return what a request says of which nobody is told how it ended."""
    now = ClockTimestamp()
    return {
        "status": status,
        "status_at": now,
        "finished_at": now,
        "webhook_status": webhook_left_out(),
    }


def _given_up() -> Mapping[str, Any]:
    now = ClockTimestamp()
    message = f"The worker was lost {MOST_CLAIMS} times while it asked the model."
    return {
        "status": AsyncStatus.FAILED,
        "status_at": now,
        "finished_at": now,
        "errors": [{"code": ErrorCode.INTERNAL, "message": message}],
    }


def _end_parts(ids: Collection[str]) -> None:
    webhooks_write(AsyncRequest.objects.filter(id__in=ids))


ASYNC_REQUEST = LeaseKind(
    name="async_request",
    model=AsyncRequest,
    task="async_requests.run",
    queue_of=always_on(ASYNC_QUEUE),
    secrets_of=_key_of,
    related=("team",),
    is_open=Q(status__in=OPEN),
    may_be_claimed=Q(cancel_requested_at=None) & _is_due(),
    waiting={"status": AsyncStatus.QUEUED},
    claimed={
        "status": AsyncStatus.IN_PROGRESS,
        "status_at": ClockTimestamp(),
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    cancelled=_ended(AsyncStatus.CANCELED),
    tidy=_tidy,
    most_claims=MOST_CLAIMS,
    most_looked_at=LOOKED_AT,
    given_up=_given_up,
    end_parts=_end_parts,
)

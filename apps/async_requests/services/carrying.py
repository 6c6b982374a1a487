"""What the worker that carries a request out asks and writes; every write names its lease."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from apps.async_requests.models import AsyncRequest
from apps.async_requests.webhooks.writing import webhook_left_out, webhooks_write
from apps.deployments.addresses import GONE
from apps.deployments.models import Deployment, Environment
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import lease_end, lease_held
from controlplane.domain.async_requests.answers import Attempt, Next, delay_seconds
from controlplane.domain.async_requests.states import AsyncStatus
from controlplane.domain.lifecycle import DeploymentState

_OUT_OF_USE = [*GONE, DeploymentState.INACTIVE]


@dataclass(frozen=True, kw_only=True)
class Call:
    url: str
    body: bytes
    key_sha256: str
    """Of the key that asked; empty where it is gone."""


def async_request_begin(*, lease: Lease) -> Call:
    """Return what is to be asked. Raises LeaseLost.

    A request that came through an environment follows it where its deployment went out of use.
    """
    with lease_held(lease) as request:
        if request.environment and (followed := _followed(request)):
            request.deployment_id = followed
            AsyncRequest.objects.filter(id=request.id).update(deployment_id=followed)
        key = request.api_key
    place = f"{request.model_id}/deployment/{request.deployment_id}"
    return Call(
        url=f"{settings.GATEWAY_INTERNAL_URL}/m/{place}/predict",
        body=request.model_input.encode(),
        key_sha256="" if key is None or key.revoked_at is not None else key.secret_sha256,
    )


def async_request_finish(*, lease: Lease, attempt: Attempt) -> bool:
    """Return whether the attempt's outcome was stored; a cancelled request stays cancelled."""
    try:
        with lease_held(lease) as request:
            if request.cancel_requested_at is not None:
                return _end(lease, AsyncStatus.CANCELED, webhook_status=webhook_left_out())
            return _store(lease, request, attempt)
    except LeaseLost:
        return False


def async_request_stopped(*, lease: Lease) -> bool:
    return _end(lease, AsyncStatus.CANCELED, webhook_status=webhook_left_out())


def _store(lease: Lease, request: AsyncRequest, attempt: Attempt) -> bool:
    if attempt.next is Next.WAIT:
        return _queue_again(lease, request.attempts, attempt.wait_seconds, attempt)
    attempts = request.attempts + 1
    if attempt.next is Next.RETRY and attempts < request.max_attempts:
        delay = delay_seconds(
            attempts,
            initial_delay_ms=request.initial_delay_ms,
            max_delay_ms=request.max_delay_ms,
        )
        return _queue_again(lease, attempts, delay, attempt)
    failed = attempt.error is not None
    status = AsyncStatus.FAILED if failed else AsyncStatus.SUCCEEDED
    stored = _end(lease, status, attempts=attempts, errors=_errors(attempt), output=attempt.output)
    webhooks_write(AsyncRequest.objects.filter(id=request.id))
    return stored


def _queue_again(lease: Lease, attempts: int, seconds: float, attempt: Attempt) -> bool:
    return lease_end(
        lease=lease,
        status=AsyncStatus.QUEUED,
        status_at=ClockTimestamp(),
        attempts=attempts,
        errors=_errors(attempt),
        next_attempt_at=ClockTimestamp() + timedelta(seconds=seconds),
        lease_claims=0,
    )


def _errors(attempt: Attempt) -> list[dict[str, str]]:
    return [] if attempt.error is None else [attempt.error]


def _end(lease: Lease, status: AsyncStatus, **columns: Any) -> bool:
    now = ClockTimestamp()
    return lease_end(lease=lease, status=status, status_at=now, finished_at=now, **columns)


def _followed(request: AsyncRequest) -> str | None:
    """Return the deployment that the environment points at, where the one asked is out of use."""
    deployments = Deployment.objects.filter(id=request.deployment_id)
    if deployments.exclude(state__in=_OUT_OF_USE).exists():
        return None
    places = Environment.objects.filter(model_id=request.model_id, name=request.environment)
    return places.values_list("current_id", flat=True).first()

"""A webhook from its claim to its end, as the worker that sends it goes along."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F

from apps.async_requests.models import AsyncWebhook
from apps.async_requests.webhooks.leasing import webhook_tell
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease
from apps.leases.services import lease_end
from controlplane.domain.async_requests.webhooks import MOST_ATTEMPTS, RETRY_SECONDS, Completed
from controlplane.domain.lifecycle import StepState
from controlplane.domain.notifications import Outcome


@dataclass(frozen=True, kw_only=True)
class ToSend:
    endpoint: str
    completed: Completed


def webhook_to_send(*, webhook_id: str) -> ToSend:
    """Return what is to be sent, the same at every attempt."""
    request = AsyncWebhook.objects.select_related("request").get(id=webhook_id).request
    completed = Completed(
        request_id=request.id,
        model_id=request.model_id,
        deployment_id=request.deployment_id,
        at=request.finished_at or request.created_at,
        output=request.output,
        errors=request.errors,
    )
    return ToSend(endpoint=request.webhook_endpoint, completed=completed)


@transaction.atomic
def webhook_finish(*, lease: Lease, outcome: Outcome) -> bool:
    """Return whether the outcome was stored; a failed attempt waits for its next, if it has one."""
    webhook = AsyncWebhook.objects.get(id=lease.id)
    changes = {
        "attempts": F("attempts") + 1,
        "sentence": outcome.sentence,
        "hint": outcome.hint,
        "lease_claims": 0,
    }
    if not outcome.arrived and outcome.may_retry and webhook.attempts + 1 < MOST_ATTEMPTS:
        later = ClockTimestamp() + timedelta(seconds=RETRY_SECONDS)
        return lease_end(lease=lease, **changes, state=StepState.WAITING, next_attempt_at=later)
    state = StepState.FINISHED if outcome.arrived else StepState.FAILED
    stored = lease_end(lease=lease, **changes, state=state, finished_at=ClockTimestamp())
    if stored:
        webhook_tell([webhook.request_id], arrived=outcome.arrived)
    return stored

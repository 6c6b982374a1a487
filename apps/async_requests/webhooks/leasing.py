"""Delivering an outcome, as work that workers of the queue lease."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from apps.async_requests.models import AsyncRequest, AsyncWebhook
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane.celery import ASYNC_QUEUE
from controlplane.domain.async_requests.states import AsyncStatus, WebhookStatus
from controlplane.domain.async_requests.webhooks import SECRETS
from controlplane.domain.lifecycle import StepState

MOST_CLAIMS = 3
OPEN = (StepState.WAITING, StepState.RUNNING)
LOOKED_AT = 200


def webhook_tell(request_ids: Collection[str], *, arrived: bool) -> None:
    """Write into requests whether their outcome arrived."""
    rows = AsyncRequest.objects.filter(id__in=request_ids)
    status = WebhookStatus.SUCCEEDED if arrived else WebhookStatus.FAILED
    rows.update(webhook_status=status)
    if not arrived:
        rows.filter(status=AsyncStatus.SUCCEEDED).update(
            status=AsyncStatus.WEBHOOK_FAILED, status_at=ClockTimestamp()
        )


def _secrets_of(webhook: AsyncWebhook) -> Mapping[str, str]:
    return secrets_reveal(team=webhook.request.team, names=SECRETS)


def _given_up() -> Mapping[str, Any]:
    return {
        "state": StepState.FAILED,
        "sentence": f"The worker was lost {MOST_CLAIMS} times while it sent this webhook.",
        "hint": "Look at the log of the worker of the queue `async`.",
        "finished_at": ClockTimestamp(),
    }


def _end_parts(ids: Collection[str]) -> None:
    rows = AsyncWebhook.objects.filter(id__in=ids)
    webhook_tell(list(rows.values_list("request_id", flat=True)), arrived=False)


ASYNC_WEBHOOK = LeaseKind(
    name="async_webhook",
    model=AsyncWebhook,
    task="async_requests.deliver",
    queue_of=always_on(ASYNC_QUEUE),
    secrets_of=_secrets_of,
    related=("request__team",),
    is_open=Q(state__in=OPEN),
    may_be_claimed=Q(next_attempt_at=None) | Q(next_attempt_at__lte=ClockTimestamp()),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    most_claims=MOST_CLAIMS,
    most_looked_at=LOOKED_AT,
    given_up=_given_up,
    end_parts=_end_parts,
)

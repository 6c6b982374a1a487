"""Sending a message, as work that workers lease; a channel's messages leave in their order."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q

from apps.alerts.models import AlertDelivery
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.lifecycle import StepState

MOST_CLAIMS = 3
OPEN = (StepState.WAITING, StepState.RUNNING)
KEPT = timedelta(days=30)


def _is_first() -> Q:
    """Return, for queries, whether its channel has no older message that is still to go."""
    older = AlertDelivery.objects.filter(channel=OuterRef("channel"), state__in=OPEN)
    before = Q(created_at__lt=OuterRef("created_at")) | Q(
        created_at=OuterRef("created_at"), id__lt=OuterRef("id")
    )
    return ~Q(Exists(older.filter(before)))


def _is_due() -> Q:
    return Q(next_attempt_at=None) | Q(next_attempt_at__lte=ClockTimestamp())


def _secrets_of(delivery: AlertDelivery) -> Mapping[str, str]:
    channel = delivery.channel
    names = [channel.secret_name] if channel.secret_name else []
    return secrets_reveal(team=channel.team, names=names)


def _forget_old() -> None:
    old = AlertDelivery.objects.filter(finished_at__lt=ClockTimestamp() - KEPT)
    old.delete()


def _given_up() -> Mapping[str, Any]:
    return {
        "state": StepState.FAILED,
        "sentence": f"The worker was lost {MOST_CLAIMS} times while it sent this message.",
        "hint": "Look at the control worker's log.",
        "finished_at": ClockTimestamp(),
    }


DELIVERY = LeaseKind(
    name="alert_delivery",
    model=AlertDelivery,
    task="alerts.deliver",
    queue_of=always_on(CONTROL_QUEUE),
    secrets_of=_secrets_of,
    related=("channel__team",),
    is_open=Q(state__in=OPEN),
    may_be_claimed=_is_due() & _is_first(),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    tidy=_forget_old,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)

"""Tasks of alerts: look what holds, and send what is to be told."""

import logging
from typing import Any

from celery import shared_task
from django.conf import settings

from apps.alerts.deliveries.leasing import DELIVERY
from apps.alerts.deliveries.sending import delivery_finish, delivery_to_send
from apps.alerts.evaluation import alerts_evaluate
from apps.leases.sweeping import leases_sweep
from controlplane.domain.notifications import Message, Outcome
from controlplane.domain.redaction import Redactor
from workers.notifications.sending import Ways, send
from workers.tasks.leasing import (
    LeaseKeeper,
    Unredeemed,
    claimed_one,
    kept,
    redeem_secrets,
    retry_on_db_error,
)
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)


@tick("alerts.sweep")
def sweep() -> None:
    """Fire and resolve alerts, and have messages sent whose task was lost."""
    done = alerts_evaluate()
    leases_sweep(DELIVERY)
    if done.fired or done.resolved:
        _log.info("alerts: %s fired, %s resolved", done.fired, done.resolved)


@shared_task(name="alerts.deliver")
def deliver(alert_delivery_id: str, **newer: Any) -> None:
    if (lease := claimed_one(DELIVERY, alert_delivery_id)) is not None:
        with kept(lease) as keeper:
            _send_and_store(keeper)


def _send_and_store(keeper: LeaseKeeper) -> None:
    lease = keeper.lease
    message = retry_on_db_error(keeper, lambda: delivery_to_send(delivery_id=lease.id))
    outcome = _sent(keeper, message)
    if not retry_on_db_error(keeper, lambda: delivery_finish(lease=lease, outcome=outcome)):
        _log.warning("the message %s was taken over; this outcome is dropped", lease.id)


def _sent(keeper: LeaseKeeper, message: Message) -> Outcome:
    try:
        values = redeem_secrets(keeper) if message.secret_name else {}
    except Unredeemed as error:
        return _unredeemed(error)
    try:
        outcome = send(message, secrets=values, ways=_ways())
    except Exception as error:
        # Whatever a stranger answers must not leave a channel waiting. No traceback: it may quote
        # a value.
        _log.error("the message %s was not sent: %s", message.id, type(error).__name__)
        outcome = Outcome(sentence=f"Sending broke off ({type(error).__name__}).")
    redact = Redactor(values.values()).text
    return Outcome(
        sentence=redact(outcome.sentence), hint=redact(outcome.hint), may_retry=outcome.may_retry
    )


def _unredeemed(error: Unredeemed) -> Outcome:
    if (failure := error.failure) is not None:
        return Outcome(sentence=failure.sentence, hint=failure.hint or "", may_retry=False)
    return Outcome(
        sentence="The channel's secret could not be had from the control plane.",
        hint=f"`{settings.CONTROL_PLANE_URL}` must answer ({error}).",
    )


def _ways() -> Ways:
    return Ways(
        email_url=settings.EMAIL_URL,
        email_from=settings.EMAIL_FROM,
        allow_private_addresses=settings.ALLOW_PRIVATE_ADDRESSES,
    )

"""A message from its claim to its end, as the worker that sends it goes along."""

from datetime import timedelta

from django.db.models import F

from apps.alerts.deliveries.leasing import DELIVERY, OPEN
from apps.alerts.deliveries.messages import message_of
from apps.alerts.models import AlertDelivery
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease
from apps.leases.queue import work_send
from apps.leases.services import lease_end
from controlplane.domain.lifecycle import StepState
from controlplane.domain.notifications import Message, Outcome

WAITS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
)
"""Between one failed attempt and the next; after the last of them it has failed."""


def delivery_to_send(*, delivery_id: str) -> Message:
    rows = AlertDelivery.objects.select_related("channel__team")
    return message_of(rows.get(id=delivery_id))


def delivery_finish(*, lease: Lease, outcome: Outcome) -> bool:
    """Return whether the outcome was stored; a failed attempt waits for its next, if it has one."""
    delivery = AlertDelivery.objects.select_related("channel").get(id=lease.id)
    stored = lease_end(lease=lease, **_columns(delivery, outcome))
    if stored:
        _send_next(delivery)
    return stored


def _columns(delivery: AlertDelivery, outcome: Outcome) -> dict[str, object]:
    columns = {
        "attempts": F("attempts") + 1,
        "sentence": outcome.sentence,
        "hint": outcome.hint,
        "lease_claims": 0,
    }
    if outcome.may_retry and not outcome.arrived and delivery.attempts < len(WAITS):
        wait = WAITS[delivery.attempts]
        return {**columns, "state": StepState.WAITING, "next_attempt_at": ClockTimestamp() + wait}
    state = StepState.FINISHED if outcome.arrived else StepState.FAILED
    return {**columns, "state": state, "finished_at": ClockTimestamp()}


def _send_next(delivery: AlertDelivery) -> None:
    waiting = AlertDelivery.objects.filter(channel=delivery.channel, state__in=OPEN)
    following = waiting.order_by("created_at", "id").first()
    if following is not None and following.id != delivery.id:
        work_send(DELIVERY, following)

"""Messages, written in the transaction of the change that they tell of: each once, or neither."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from apps.alerts.deliveries.leasing import DELIVERY
from apps.alerts.models import Alert, AlertChannel, AlertDelivery, Event
from apps.leases.queue import work_send


def deliveries_write(
    event: Event, alerts: Collection[Alert], *, causes: Mapping[str, Alert] | None = None
) -> None:
    """Write a message a channel and kind about all of these alerts that it hears of.

    An alert of `causes`, by key, keeps those that it caused from channels that hear of itself.
    Its end is told to those alone that were told of it.
    """
    if not alerts:
        return
    for channel in AlertChannel.objects.filter(is_paused=False).order_by("id"):
        for group in _groups(channel, event, alerts, causes or {}).values():
            _write(channel, event, group)


def _groups(
    channel: AlertChannel, event: Event, alerts: Collection[Alert], causes: Mapping[str, Alert]
) -> Mapping[str, list[Alert]]:
    by_kind: dict[str, list[Alert]] = defaultdict(list)
    announced = _announced_ids(channel, alerts) if event is Event.RESOLVED else None
    for alert in alerts:
        cause = causes.get(alert.caused_by)
        is_explained = cause is not None and channel.hears(cause.kind, cause.team_id)
        was_told = announced is None or alert.id in announced
        if channel.hears(alert.kind, alert.team_id) and was_told and not is_explained:
            by_kind[alert.kind].append(alert)
    return by_kind


def _announced_ids(channel: AlertChannel, alerts: Collection[Alert]) -> set[str]:
    rows = AlertDelivery.alerts.through.objects.filter(
        alertdelivery__channel=channel,
        alertdelivery__event=Event.FIRING,
        alert_id__in=[each.id for each in alerts],
    )
    return set(rows.values_list("alert_id", flat=True))


def _write(channel: AlertChannel, event: Event, alerts: Collection[Alert]) -> None:
    delivery = AlertDelivery.objects.create(channel=channel, event=event)
    delivery.alerts.set(alerts)
    work_send(DELIVERY, delivery)

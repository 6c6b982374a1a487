from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.alerts.channels.checks import checked
from apps.alerts.deliveries.leasing import DELIVERY, OPEN
from apps.alerts.models import AlertChannel, AlertDelivery, Event
from apps.leases.queue import work_send
from apps.rest.errors import Conflict

MOST_CHANNELS = 50
_AUDITED_FIELDS = (
    "name",
    "form",
    "target",
    "secret_name",
    "kinds",
    "hears_installation",
    "is_paused",
)


@transaction.atomic
def channel_create(*, team: Team, user: User | None = None, **values: Any) -> AlertChannel:
    """Return the new channel. Raises InvalidInput, or Conflict for a name that is taken."""
    Team.objects.select_for_update(no_key=True).get(id=team.id)
    known = AlertChannel.objects.filter(team=team)
    if known.count() >= MOST_CHANNELS:
        raise Conflict(f"A team has {MOST_CHANNELS} channels at most.", hint="Delete one first.")
    channel = AlertChannel(team=team, created_by=user, **checked(team, values))
    _refuse_taken_name(channel)
    channel.save()
    audit("alert_channel.create", channel, team=team, after=_values(channel))
    return channel


@transaction.atomic
def channel_change(*, channel: AlertChannel, **values: Any) -> AlertChannel:
    """Return the channel with these values changed; otherwise as `channel_create`."""
    Team.objects.select_for_update(no_key=True).get(id=channel.team_id)
    channel.refresh_from_db()
    before = _values(channel)
    for name, value in checked(channel.team, {**before, **values}).items():
        setattr(channel, name, value)
    _refuse_taken_name(channel)
    channel.save()
    audit("alert_channel.change", channel, team=channel.team, before=before, after=_values(channel))
    return channel


@transaction.atomic
def channel_delete(*, channel: AlertChannel) -> None:
    """Delete the channel with what it was sent; what waits to go is not sent."""
    audit("alert_channel.delete", channel, team=channel.team, before=_values(channel))
    channel.delete()


@transaction.atomic
def channel_test(*, channel: AlertChannel) -> AlertDelivery:
    """Return a test message that waits to be sent; one that waits already is not doubled."""
    AlertChannel.objects.select_for_update(no_key=True).get(id=channel.id)
    tests = AlertDelivery.objects.filter(channel=channel, event=Event.TEST, state__in=OPEN)
    waiting = tests.first()
    if waiting is not None:
        return waiting
    delivery = AlertDelivery.objects.create(channel=channel, event=Event.TEST)
    audit("alert_channel.test", channel, team=channel.team)
    work_send(DELIVERY, delivery)
    return delivery


def _refuse_taken_name(channel: AlertChannel) -> None:
    others = AlertChannel.objects.filter(team=channel.team, name=channel.name)
    if others.exclude(id=channel.id).exists():
        raise Conflict(f"The team has a channel `{channel.name}`.", fields=["name"])


def _values(channel: AlertChannel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in _AUDITED_FIELDS}

"""Which channels a secret signs, or leads to."""

from collections.abc import Iterator, Sequence

from django.urls import reverse

from apps.accounts.models import Team
from apps.alerts.models import AlertChannel
from apps.secrets.usage import Use


def channel_secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    channels = AlertChannel.objects.filter(team=team, secret_name__in=list(names))
    for channel in channels.order_by("name"):
        url = reverse("alerts:channel", args=[channel.id])
        yield (
            channel.secret_name,
            Use(kind="alert_channel", id=channel.id, name=channel.name, url=url),
        )

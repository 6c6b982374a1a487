"""Alerts of a team, channels, and what one of them was sent."""

from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import Team, User
from apps.alerts.models import Alert, AlertChannel, AlertDelivery, Severity
from benchmarks.many_others import made
from controlplane.domain.alert_kinds import AlertKindName


def alerts_and_channels(team: Team, user: User, count: int) -> AlertChannel:
    """Return the channel that was sent something."""
    channels = made(
        AlertChannel(
            team=team,
            name=f"channel-{number}",
            form="webhook",
            target="https://example.com/hook",
            created_by=user,
        )
        for number in range(count)
    )
    alerts = [*_alerts(team, count, is_over=False), *_alerts(team, count, is_over=True)]
    _deliveries(channels[0], alerts)
    return channels[0]


def _alerts(team: Team, count: int, *, is_over: bool) -> list[Alert]:
    now = timezone.now()
    return made(
        Alert(
            team=team,
            kind=AlertKindName.BUILD_FAILED,
            subject=f"build-{number}",
            severity=Severity.WARNING,
            sentence=f"Build {number} of `llama-3.3-70b` failed. The disk of `workbench` is full.",
            hint="Free some space, and try again.",
            path="/builds/1/",
            began_at=now - timedelta(hours=number + 1),
            fired_at=now - timedelta(hours=number + 1),
            resolved_at=now if is_over else None,
        )
        for number in range(count)
    )


def _deliveries(channel: AlertChannel, alerts: list[Alert]) -> None:
    rows = made(AlertDelivery(channel=channel, event="firing") for _ in alerts)
    links = AlertDelivery.alerts.through
    made(
        links(alertdelivery_id=row.id, alert_id=alert.id)
        for row, alert in zip(rows, alerts, strict=True)
    )

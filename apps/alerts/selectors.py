from django.db.models import Case, Q, QuerySet, Value, When

from apps.accounts.models import Team
from apps.alerts.models import Alert, AlertChannel, AlertDelivery, AlertState, Severity
from apps.rest.errors import NotFound


def alert_list(*, team: Team, state: str = "", kind: str = "") -> QuerySet[Alert]:
    """Return the team's alerts and those of what all teams share, newest first."""
    alerts = Alert.objects.filter(Q(team=team) | Q(team=None))
    if state:
        alerts = alerts.filter(resolved_at__isnull=state == AlertState.FIRING)
    if kind:
        alerts = alerts.filter(kind=kind)
    return alerts.order_by("-fired_at", "-id")


def alerts_firing(*, team: Team) -> QuerySet[Alert]:
    """Return those that fire, the critical first, then the oldest."""
    weight = Case(When(severity=Severity.CRITICAL, then=Value(0)), default=Value(1))
    return alert_list(team=team, state=AlertState.FIRING).order_by(weight, "began_at", "id")


def alert_get(*, team: Team, alert_id: str) -> Alert:
    alert = alert_list(team=team).filter(id=alert_id).first()
    if alert is None:
        raise NotFound(f"There is no alert `{alert_id}`.")
    return alert


def channel_list(*, team: Team) -> QuerySet[AlertChannel]:
    channels = AlertChannel.objects.filter(team=team)
    return channels.select_related("created_by", "team").order_by("name")


def channel_get(*, team: Team, channel_id: str) -> AlertChannel:
    channel = channel_list(team=team).filter(id=channel_id).first()
    if channel is None:
        raise NotFound(f"There is no channel `{channel_id}`.")
    return channel


def delivery_list(*, channel: AlertChannel) -> QuerySet[AlertDelivery]:
    rows = AlertDelivery.objects.filter(channel=channel).prefetch_related("alerts")
    return rows.order_by("-created_at", "-id")


def last_deliveries(*, channels: QuerySet[AlertChannel]) -> dict[str, AlertDelivery]:
    rows = AlertDelivery.objects.filter(channel__in=channels)
    rows = rows.order_by("channel_id", "-created_at", "-id").distinct("channel_id")
    return {row.channel_id: row for row in rows}

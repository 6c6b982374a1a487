"""What a message says in each form: JSON for programs, lines for people."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from apps.alerts.kinds import LABELS
from apps.alerts.models import Alert, AlertDelivery, Event
from controlplane.clock import now
from controlplane.domain.notifications import ChannelForm, Message

MOST_LISTED = 20
_TITLES = {Event.FIRING: "Firing", Event.RESOLVED: "Resolved", Event.TEST: "Test"}
_TEST = "This is a test of the channel `{}`. Nothing is wrong."


def message_of(delivery: AlertDelivery) -> Message:
    """Return the message; its alerts say what they say now."""
    channel, form = delivery.channel, ChannelForm(delivery.channel.form)
    alerts = list(delivery.alerts.order_by("fired_at", "id"))
    title = _title(delivery, alerts)
    return Message(
        id=delivery.id,
        form=form,
        target=channel.target,
        secret_name=channel.secret_name,
        title=title,
        text=_text(delivery, alerts),
        body=_body(form, delivery, alerts, title),
    )


def _title(delivery: AlertDelivery, alerts: Sequence[Alert]) -> str:
    event = Event(delivery.event)
    if event is Event.TEST:
        return f"{_TITLES[event]} of channel {delivery.channel.name}"
    label = LABELS.get(alerts[0].kind, alerts[0].kind) if alerts else "Alert"
    more = f" ({len(alerts)})" if len(alerts) > 1 else ""
    return f"{_TITLES[event]}: {label}{more}"


def _text(delivery: AlertDelivery, alerts: Sequence[Alert]) -> str:
    if delivery.event == Event.TEST:
        return _TEST.format(delivery.channel.name)
    parts = ["\n".join(filter(None, _lines(each))) for each in alerts[:MOST_LISTED]]
    if len(alerts) > MOST_LISTED:
        parts.append(f"And {len(alerts) - MOST_LISTED} more: {_url('/alerts/')}")
    return "\n\n".join(parts)


def _lines(alert: Alert) -> tuple[str, ...]:
    since = f"Since {alert.began_at:%Y-%m-%d %H:%M:%S} UTC"
    until = f"until {alert.resolved_at:%Y-%m-%d %H:%M:%S} UTC" if alert.resolved_at else ""
    when = f"{since}, {until}." if until else f"{since}."
    return alert.sentence, "" if until else alert.hint, when, _url(alert.path)


def _body(form: ChannelForm, delivery: AlertDelivery, alerts: Sequence[Alert], title: str) -> bytes:
    if form is ChannelForm.WEBHOOK:
        return json.dumps(_webhook(delivery, alerts)).encode()
    if form is ChannelForm.SLACK:
        words = f"*{_slack(title)}*\n{_slack(_text(delivery, alerts))}"
        return json.dumps({"text": words}).encode()
    return b""


def _webhook(delivery: AlertDelivery, alerts: Sequence[Alert]) -> dict[str, Any]:
    """Return type, timestamp and data, as Standard Webhooks has them (specification, 1.0)."""
    return {
        "type": f"alert.{delivery.event}",
        "timestamp": now().isoformat(),
        "data": {
            "team": delivery.channel.team.name,
            "channel": delivery.channel.name,
            "alerts": [_alert(each) for each in alerts],
        },
    }


def _alert(alert: Alert) -> dict[str, Any]:
    return {
        "id": alert.id,
        "kind": alert.kind,
        "severity": alert.severity,
        "state": alert.state,
        "sentence": alert.sentence,
        "hint": alert.hint,
        "url": _url(alert.path),
        "began_at": alert.began_at.isoformat(),
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
    }


def _slack(text: str) -> str:
    """Return the text with the three characters that Slack reads spelled out."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _url(path: str) -> str:
    return f"{settings.PUBLIC_URL}{path}" if path else ""

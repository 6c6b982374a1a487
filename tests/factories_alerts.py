"""Alerts and channels for tests, each valid as it stands; `**changes` override any column."""

from typing import Any

from apps.alerts.models import Alert, AlertChannel
from apps.rest.identifiers import new_id
from controlplane import clock
from tests.factories import make_team


def make_alert(**changes: Any) -> Alert:
    """A failed build that fires; of a team of its own unless `team` says otherwise."""
    now = clock.now()
    defaults = {
        "kind": "build_failed",
        "subject": new_id(),
        "severity": "warning",
        "sentence": "Build 4 of `tiny` failed.",
        "path": "/builds/4/",
        "began_at": now,
        "fired_at": now,
    }
    if "team" not in changes:
        changes["team"] = make_team()
    return Alert.objects.create(**defaults | changes)


def make_alert_channel(**changes: Any) -> AlertChannel:
    """A webhook that hears of everything."""
    defaults = {
        "name": f"channel-{new_id()}", "form": "webhook", "target": "https://example.com/hook",
    }  # fmt: skip
    if "team" not in changes:
        changes["team"] = make_team()
    return AlertChannel.objects.create(**defaults | changes)

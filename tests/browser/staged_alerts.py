"""Alerts of the stage: two that fire, one that is over, and a channel that could not be reached."""

from datetime import timedelta

from apps.accounts.models import Team
from apps.alerts.models import AlertDelivery
from controlplane import clock
from tests import factories_alerts


def make_alerts(team: Team) -> None:
    """Make them."""
    now = clock.now()
    down = factories_alerts.make_alert(
        team=team,
        kind="deployment_down",
        severity="critical",
        sentence="`smollm2`, `deployment-2` failed to deploy: 0 of 1 replicas ready. No node has "
        "a free H100.",
        hint="Free a GPU, or add one to the pool `default`.",
        path="/models/",
        began_at=now - timedelta(minutes=12),
    )
    factories_alerts.make_alert(team=team, began_at=now - timedelta(hours=3))
    factories_alerts.make_alert(
        team=None,
        kind="node_silent",
        severity="critical",
        sentence="The node `gpu-7` is silent.",
        path="/nodes/",
        began_at=now - timedelta(days=1),
        announced_at=now - timedelta(days=1),
        resolved_at=now - timedelta(hours=22),
    )
    channel = factories_alerts.make_alert_channel(team=team, name="on call")
    for state, sentence in (("finished", ""), ("failed", "`example.com` answered 404.")):
        delivery = AlertDelivery.objects.create(
            channel=channel, event="firing", state=state, attempts=1, sentence=sentence
        )
        delivery.alerts.set([down])
    AlertDelivery.objects.create(channel=channel, event="test", state="finished", attempts=1)

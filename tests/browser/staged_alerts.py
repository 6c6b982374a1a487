"""Alerts of the stage: two that fire, one that is over, and a channel that could not be reached."""

from datetime import timedelta

from apps.accounts.models import Team
from apps.alerts.models import AlertDelivery
from apps.builds.models import Build
from apps.deployments.models import Deployment
from controlplane import clock
from tests import factories_alerts


def make_alerts(team: Team, *, failed: Build, deployment: Deployment) -> None:
    """Make them: of a build and of a deployment, each with its own cause."""
    now = clock.now()
    down = factories_alerts.make_alert(
        team=team,
        kind="deployment_down",
        severity="critical",
        sentence="`smollm2`, `deployment-2` failed to deploy: 0 of 1 replicas ready. "
        f"{deployment.failure['sentence']}",
        hint=deployment.failure["hint"],
        path=f"/models/{deployment.model_id}/{deployment.id}/",
        began_at=now - timedelta(minutes=12),
    )
    factories_alerts.make_alert(
        team=team,
        sentence=f"Build {failed.number} of `smollm2` failed. {failed.failure['sentence']}",
        hint=failed.failure["hint"],
        path=f"/builds/{failed.number}/",
        began_at=failed.finished_at,
    )
    factories_alerts.make_alert(
        team=None,
        kind="node_silent",
        severity="critical",
        sentence="The node `gpu-7` is silent. What it served goes on where a gateway "
        "reaches it, and nothing new starts there.",
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

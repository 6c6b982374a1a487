from collections.abc import Iterator, Mapping
from datetime import timedelta

from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.alerts.limits import Limits, limits_by_team
from apps.alerts.models import Severity
from apps.deployments.models import Deployment
from apps.telemetry.traffic import Traffic, traffic_within
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName

WINDOW = timedelta(minutes=5)
FEWEST_REQUESTS = 20


def traffic_conditions(clock: Clock) -> Iterator[Condition]:
    """Give the deployments whose last minutes are beyond a limit."""
    busy = _busy(clock)
    limits = limits_by_team()
    rows = Deployment.objects.filter(id__in=busy).select_related("model").only("model", "name")
    for deployment in rows.order_by("id"):
        team_limits = limits.get(deployment.model.team_id, Limits())
        yield from _beyond(deployment, busy[deployment.id], team_limits)


def _busy(clock: Clock) -> Mapping[str, Traffic]:
    """Return what was asked, of those that were asked often enough to say something of them."""
    traffic_of = traffic_within(WINDOW, now=clock.now())
    return {
        each: traffic for each, traffic in traffic_of.items() if traffic.requests >= FEWEST_REQUESTS
    }


def _beyond(deployment: Deployment, traffic: Traffic, limits: Limits) -> Iterator[Condition]:
    most, slowest = limits.error_share_percent, limits.first_token_seconds
    percent = 100 * (traffic.error_share or 0)
    first = None if slowest is None else traffic.first_token_p90_seconds
    if most is not None and percent > most:
        sentence = (
            f"{percent:.1f} % of the last {traffic.requests:,} requests to {_named(deployment)} "
            f"were answered 5xx; the limit is {most:g} %."
        )
        yield _condition(AlertKindName.ERROR_SHARE, deployment, sentence, Severity.CRITICAL)
    if slowest is not None and first is not None and first > slowest:
        sentence = (
            f"The first token of {_named(deployment)} takes {first:.2f} s (p90 of the last "
            f"{traffic.requests:,} requests); the limit is {slowest:g} s."
        )
        yield _condition(AlertKindName.FIRST_TOKEN, deployment, sentence, Severity.WARNING)


def _condition(
    kind: AlertKindName, deployment: Deployment, sentence: str, severity: Severity
) -> Condition:
    return Condition(
        kind=kind,
        subject=deployment.id,
        team_id=deployment.model.team_id,
        severity=severity,
        sentence=sentence,
        hint="Look at the deployment's failures and at its engine's log.",
        path=reverse("deployments:deployment", args=[deployment.model_id, deployment.id]),
    )


def _named(deployment: Deployment) -> str:
    return f"`{deployment.model.name}`, `{deployment.name}`"

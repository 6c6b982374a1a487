"""Deployments that lookahead makes slower, by the share of requests that goes without it."""

from collections.abc import Iterator

from django.db.models import Q
from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.deployments.lookahead import WINDOW
from apps.deployments.models import Deployment
from apps.telemetry.series.sums import sums_by_deployment
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.lifecycle import DeploymentState
from controlplane.domain.lookahead_tuning.compared import COMPARED_SERIES, Compared, compared_of


def lookahead_conditions(clock: Clock) -> Iterator[Condition]:
    """Give the deployments whose answers of the last hour came slower with lookahead."""
    now = clock.now()
    deployments = {each.id: each for each in _that_compare()}
    sums = sums_by_deployment(
        COMPARED_SERIES, deployment_ids=deployments, start=now - WINDOW, end=now
    )
    for id, of_one in sorted(sums.items()):
        compared = compared_of(of_one)
        if compared is not None and compared.hurts:
            yield _condition(deployments[id], compared)


def _that_compare() -> Iterator[Deployment]:
    """Give those of which a share of requests goes without lookahead."""
    holds_out = Q(spec__enginehouse__undrafted_share__gt=0) | Q(
        spec__model_metadata__enginehouse__undrafted_share__gt=0
    )
    rows = Deployment.objects.filter(holds_out, state=DeploymentState.ACTIVE)
    yield from rows.select_related("model").only("model__name", "model__team_id", "name")


def _condition(deployment: Deployment, compared: Compared) -> Condition:
    return Condition(
        kind=AlertKindName.LOOKAHEAD_HURTS,
        subject=deployment.id,
        team_id=deployment.model.team_id,
        sentence=(
            f"Lookahead slows `{deployment.model.name}`, `{deployment.name}`: in the last hour "
            f"{compared.sentence}."
        ),
        hint="Serve without a speculator, or tune lookahead on the deployment's own answers.",
        path=reverse("deployments:deployment", args=[deployment.model_id, deployment.id]),
    )

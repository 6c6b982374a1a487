"""Replicas that gateways pass over are named, with the gateway and the reason."""

import pytest

from apps.deployments.autoscaling.signal import REPORT_AGE, load_add
from apps.deployments.models import Replica
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import make_gateway
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
TOLD = [
    {"gateway": "gateway-1", "reason": "errors"},
    {"gateway": "gateway-2", "reason": "of_tomorrow"},
]


@pytest.fixture
def replica(cast: factories.Cast) -> Replica:
    deployment = factories.make_deployment(team=cast.team)
    return factories.make_replica(deployment=deployment, state="ready")


def over_rest(cast: factories.Cast, replica: Replica) -> object:
    deployment = replica.deployment
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}/replicas"
    (report,) = client_of(cast.owner).get(path)[1]["replicas"]
    return report["ejected_by"]


def test_each_gateways_last_report_says_whom_it_passes_over_and_why(
    cast: factories.Cast, replica: Replica
) -> None:
    gateways = [make_gateway(name=each["gateway"]) for each in reversed(TOLD)]
    for gateway, each in zip(gateways, reversed(TOLD), strict=True):
        for sequence, statement in enumerate(
            [{}, {replica.id: each["reason"], "another": "reset"}]
        ):
            load_add(gateway=gateway, sequence=sequence, seconds=5, loads={}, ejected=statement)
    assert over_rest(cast, replica) == TOLD
    deployment = replica.deployment
    page = signed_in(cast.owner).get(f"/models/{deployment.model_id}/{deployment.id}/")
    shown = " ".join(page.content.decode().split())
    assert ">ejected<" in shown
    assert "<code>gateway-1</code>, since it answered five requests in a row" in shown


@pytest.mark.parametrize("is_old", [True, False], ids=["silent", "well again"])
def test_who_is_well_again_or_was_told_of_long_ago_is_not_ejected(
    cast: factories.Cast, replica: Replica, is_old: bool
) -> None:
    gateway, clock = make_gateway(name="gateway-1"), ManualClock()
    clock.advance(-REPORT_AGE.total_seconds() - 1 if is_old else 0)
    load_add(
        gateway=gateway,
        sequence=1,
        seconds=5,
        loads={},
        ejected={replica.id: "reset"},
        clock=clock,
    )
    if not is_old:
        load_add(gateway=gateway, sequence=2, seconds=5, loads={})
    assert over_rest(cast, replica) == []

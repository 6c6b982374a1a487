"""Incidents: what is wrong for one team, at once, with since when and until when it was well."""

from datetime import timedelta

import pytest

from apps.alerts.evaluation import alerts_evaluate
from apps.alerts.incidents import Incident, incidents
from apps.alerts.models import Alert
from apps.deployments.models import Deployment
from apps.fleet.models import Node
from controlplane.clock import now
from controlplane.domain.alert_kinds import AlertKindName
from tests.factories import Cast, make_cast, make_deployment, make_model, make_replica
from tests.factories_serving import listened, make_serving_node

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def of(cast: Cast) -> list[Incident]:
    return list(incidents(team=cast.team))


def down(cast: Cast, **changes: object) -> Deployment:
    values: dict[str, object] = {"state": "unhealthy", "failure": {"sentence": "It was killed."}}
    return make_deployment(model=make_model(team=cast.team), **values | changes)


def test_what_is_down_is_told_before_any_sweep_with_when_it_was_well(cast: Cast) -> None:
    deployment, ended = down(cast), now() - timedelta(minutes=7)
    make_replica(
        deployment=deployment, state="stopped", ready_at=ended - timedelta(hours=1),
        finished_at=ended,
    )  # fmt: skip
    [found] = of(cast)
    assert found.kind == AlertKindName.DEPLOYMENT_DOWN
    assert found.last_healthy_at == ended
    assert "It was killed." in found.sentence
    assert found.verb == "Open deployment"
    assert not Alert.objects.exists()


def test_it_began_when_the_sweep_saw_it_first_and_is_over_as_soon_as_it_is(cast: Cast) -> None:
    deployment = down(cast)
    alerts_evaluate()
    Alert.objects.update(began_at=now() - timedelta(hours=3))
    assert now() - of(cast)[0].since > timedelta(hours=2)
    Deployment.objects.filter(id=deployment.id).update(state="active")
    assert of(cast) == []


def test_a_silent_node_is_said_behind_what_it_took_with_it(cast: Cast) -> None:
    node = make_serving_node(name="gpu-1")
    make_replica(deployment=down(cast), node=node, state="lost")
    Node.objects.update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()
    node_first, deployment = of(cast)
    assert node_first.is_shared
    assert deployment.because == node_first.sentence


def test_another_team_is_told_of_what_all_share_alone(cast: Cast) -> None:
    down(cast)
    make_serving_node(name="gpu-1")
    Node.objects.update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()
    others = make_model().team
    assert [each.kind for each in incidents(team=others)] == [AlertKindName.NODE_SILENT]

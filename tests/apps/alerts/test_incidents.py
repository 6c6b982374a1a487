"""Incidents: what is wrong for one team, at once, with since when and until when it was well."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.alerts.evaluation import alerts_evaluate
from apps.alerts.incidents import UNSWEPT, Incidents, incidents
from apps.alerts.models import Alert, AlertSweep
from apps.deployments.models import Deployment
from apps.fleet.models import Node
from controlplane.clock import now
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.full_database import FULL_DATABASE
from tests.factories import Cast, make_build, make_cast, make_deployment, make_model, make_replica
from tests.factories_serving import listened, make_serving_node

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def of(cast: Cast, *, most: int = 8) -> Incidents:
    alerts_evaluate()
    return incidents(team=cast.team, most=most)


def down(cast: Cast, **changes: object) -> Deployment:
    values: dict[str, object] = {"state": "unhealthy", "failure": {"sentence": "It was killed."}}
    return make_deployment(model=make_model(team=cast.team), **values | changes)


def test_what_is_down_is_told_with_when_it_was_well(cast: Cast) -> None:
    deployment, ended = down(cast), now() - timedelta(minutes=7)
    make_replica(
        deployment=deployment, state="stopped", ready_at=ended - timedelta(hours=1),
        finished_at=ended,
    )  # fmt: skip
    [outcome] = of(cast).worst
    assert outcome.kind == AlertKindName.DEPLOYMENT_DOWN
    assert outcome.last_healthy_at == ended
    assert "It was killed." in outcome.sentence
    assert outcome.verb == "Open deployment"


def test_it_began_when_the_sweep_saw_it_first_and_is_over_with_the_sweep_that_misses_it(
    cast: Cast,
) -> None:
    deployment = down(cast)
    alerts_evaluate()
    Alert.objects.update(began_at=now() - timedelta(hours=3))
    assert now() - of(cast).worst[0].since > timedelta(hours=2)
    Deployment.objects.filter(id=deployment.id).update(state="active")
    assert of(cast) == Incidents(worst=[], count=0)


def test_a_silent_node_is_said_behind_what_it_took_with_it(cast: Cast) -> None:
    node = make_serving_node(name="gpu-1")
    make_replica(deployment=down(cast), node=node, state="lost")
    Node.objects.update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()
    node_first, deployment = of(cast).worst
    assert node_first.is_shared
    assert deployment.because == node_first.sentence


def test_another_team_is_told_of_what_all_share_alone(cast: Cast) -> None:
    down(cast)
    make_serving_node(name="gpu-1")
    Node.objects.update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()
    alerts_evaluate()
    others = incidents(team=make_model().team, most=8)
    assert [each.kind for each in others.worst] == [AlertKindName.NODE_SILENT]


def test_the_worst_are_shown_all_are_counted_and_a_poll_asks_little(cast: Cast) -> None:
    for number in range(4):
        make_build(team=cast.team, state="failed", finished_at=now() - timedelta(days=number + 1))
    down(cast)
    alerts_evaluate()
    with CaptureQueriesContext(connection) as queries:
        outcome = incidents(team=cast.team, most=3)
    assert len(queries) <= 3
    assert (len(outcome.worst), outcome.count) == (3, 5)
    assert [each.kind for each in outcome.worst] == ["deployment_down", *2 * ["build_failed"]]


def test_that_nobody_sweeps_is_told_before_what_they_saw_last(cast: Cast) -> None:
    down(cast)
    assert [each.label for each in of(cast).worst] == ["Deployment down"]
    AlertSweep.objects.update(looked_at=now() - UNSWEPT - timedelta(seconds=1))
    outcome = incidents(team=cast.team, most=8)
    assert [each.label for each in outcome.worst] == ["Nobody looks", "Deployment down"]
    assert outcome.count == 2


def test_a_database_that_takes_no_alert_is_told_all_the_same(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FULL_DATABASE, "_met_at", FULL_DATABASE._clock.monotonic())
    [outcome] = incidents(team=cast.team, most=8).worst
    assert (outcome.kind, outcome.label) == (AlertKindName.DATABASE_FULL, "Database full")

"""A condition becomes one alert and one message, however it comes and goes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.alerts.channels.services import channel_create
from apps.alerts.evaluation import CLEAR, SETTLE, alerts_evaluate
from apps.alerts.models import Alert, AlertChannel, AlertDelivery
from apps.alerts.pruning import KEPT, alerts_prune
from apps.deployments.models import Deployment
from apps.fleet.models import Node
from controlplane import clock as own_clock
from tests.factories import (
    Cast,
    make_cast,
    make_deployment,
    make_model,
    make_replica,
)
from tests.factories_serving import listened, make_serving_node
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(at=own_clock.now())


def make_channel(cast: Cast, **changes: Any) -> AlertChannel:
    values = {"name": "on call", "form": "webhook", "target": "https://example.com/hook"}
    return channel_create(team=cast.team, **(values | changes))


def make_down(cast: Cast, **changes: Any) -> Deployment:
    model = make_model(team=cast.team)
    return make_deployment(model=model, environment="production", state="unhealthy", **changes)


def look(clock: ManualClock, after: timedelta = timedelta(0)) -> None:
    clock.advance(after.total_seconds())
    alerts_evaluate(clock=clock)


def events() -> list[str]:
    return list(AlertDelivery.objects.order_by("created_at").values_list("event", flat=True))


def test_what_stays_wrong_is_told_once_and_once_more_when_it_is_over(
    cast: Cast, clock: ManualClock
) -> None:
    make_channel(cast)
    deployment = make_down(cast, failure={"code": "X", "sentence": "Out of memory.", "hint": "H"})
    look(clock)
    alert = Alert.objects.get()
    assert (alert.state, alert.severity, alert.team_id) == ("firing", "critical", cast.team.id)
    assert alert.sentence.endswith("is unhealthy: 0 of 1 replicas ready. Out of memory.")
    assert (alert.hint, alert.path) == ("H", f"/models/{deployment.model_id}/{deployment.id}/")
    assert events() == []
    for _ in range(3):
        look(clock, SETTLE)
    assert events() == ["firing"]
    Deployment.objects.update(state="active")
    look(clock)
    look(clock, CLEAR - timedelta(seconds=1))
    assert events() == ["firing"]
    look(clock, timedelta(seconds=1))
    assert events() == ["firing", "resolved"]
    alert.refresh_from_db()
    assert alert.state == "resolved"
    look(clock, CLEAR)
    assert (Alert.objects.count(), len(events())) == (1, 2)


def test_what_comes_and_goes_is_one_alert_and_one_message(cast: Cast, clock: ManualClock) -> None:
    make_channel(cast)
    make_down(cast)
    look(clock)
    look(clock, SETTLE)
    for state in ("active", "unhealthy") * 4:
        Deployment.objects.update(state=state)
        look(clock, timedelta(seconds=20))
    assert Alert.objects.count() == 1
    assert events() == ["firing"]


def test_what_was_over_before_anyone_was_told_is_told_to_nobody(
    cast: Cast, clock: ManualClock
) -> None:
    make_channel(cast)
    make_down(cast)
    look(clock)
    Deployment.objects.update(state="active")
    look(clock, timedelta(seconds=5))
    look(clock, CLEAR)
    assert (Alert.objects.get().state, events()) == ("resolved", [])


def test_a_silent_node_explains_its_deployments_to_those_who_hear_of_nodes(
    cast: Cast, clock: ManualClock
) -> None:
    both = make_channel(cast)
    team_only = make_channel(cast, name="team only", hears_installation=False)
    node = make_serving_node(name="gpu-1")
    for _ in range(3):
        make_replica(deployment=make_down(cast), node=node, state="lost")
    Node.objects.update(last_heartbeat_at=own_clock.now() - timedelta(minutes=5))
    listened()
    look(clock)
    look(clock, SETTLE)
    report = {
        each: [
            sorted(delivery.alerts.values_list("kind", flat=True))
            for delivery in each.deliveries.all()
        ]
        for each in (both, team_only)
    }
    assert report == {both: [["node_silent"]], team_only: [["deployment_down"] * 3]}


def test_many_that_fall_at_once_are_one_message_and_no_more_queries(
    cast: Cast, clock: ManualClock
) -> None:
    make_channel(cast)
    make_down(cast)
    with CaptureQueriesContext(connection) as of_one:
        look(clock)
    model = make_model(team=cast.team)
    for number in range(20):
        make_deployment(model=model, name=f"d{number}", state="unhealthy")
    with CaptureQueriesContext(connection) as of_many:
        look(clock)
    assert len(of_many) <= len(of_one)
    look(clock, SETTLE)
    assert AlertDelivery.objects.get().alerts.count() == 21


def test_a_channel_hears_of_its_kinds_its_team_and_nothing_while_it_is_paused(
    cast: Cast, clock: ManualClock
) -> None:
    make_channel(cast, name="builds", kinds=["build_failed"])
    make_channel(cast, name="paused", is_paused=True)
    channel_create(
        team=cast.outsider.team, name="other", form="webhook", target="https://example.com"
    )
    hears = make_channel(cast, name="serving", kinds=["deployment_down"])
    make_down(cast)
    look(clock)
    look(clock, SETTLE)
    assert [each.channel for each in AlertDelivery.objects.all()] == [hears]


def test_old_alerts_are_forgotten_and_firing_ones_never(cast: Cast, clock: ManualClock) -> None:
    make_down(cast)
    look(clock)
    clock.advance(KEPT.total_seconds() * 2)
    assert alerts_prune(clock=clock) == 0
    Deployment.objects.update(state="active")
    look(clock)
    look(clock, CLEAR)
    clock.advance(KEPT.total_seconds() + 1)
    assert alerts_prune(clock=clock) == 1

"""Decisions over REST and on the page, with what would be decided now."""

from datetime import timedelta

import pytest

from apps.deployments.autoscaling.models import ScalingDecision, ScalingState
from apps.deployments.autoscaling.signal import load_add
from apps.deployments.models import Deployment
from controlplane import clock
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_deployment, make_replica, make_user
from tests.factories_serving import make_gateway
from tests.folded import folded
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def deployment(cast: Cast) -> Deployment:
    """One that nobody asks, a minute after it was found so, and that has grown before."""
    made = make_deployment(team=cast.team, state="active", max_replica=3)
    now = clock.now()
    make_replica(deployment=made, ready_at=now - timedelta(hours=1))
    gateway = make_gateway()
    later = ManualClock(now + timedelta(hours=1))  # however long the test takes
    load_add(gateway=gateway, sequence=1, seconds=5, loads={}, clock=later)
    ScalingState.objects.create(deployment=made, low_since=now - timedelta(seconds=60))
    for number in (1, 2):
        ScalingDecision.objects.create(
            deployment=made, at=now - timedelta(minutes=number), code="load_rose", by_load=3,
            sentence=f"It rose {number}.", before=1, after=3, requests=2, tokens=0,
        )  # fmt: skip
    return made


def test_decisions_come_newest_first_with_how_it_stands_now(
    cast: Cast, deployment: Deployment
) -> None:
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}/scaling_decisions"
    status, body = client_of(cast.member).get(f"{path}?limit=1")
    assert status == 200
    assert [each["sentence"] for each in body["decisions"]] == ["It rose 1."]
    assert body["pagination"]["has_more"]
    now = body["now"]
    assert (now["code"], now["by_load"], now["held"]) == ("waits", 0, 0)
    assert now["next_at"] is not None
    Deployment.objects.update(state="inactive")
    assert client_of(cast.member).get(path)[1]["now"] is None


def test_another_teams_decisions_are_not_found(deployment: Deployment) -> None:
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}/scaling_decisions"
    assert client_of(make_user()).get(path)[0] == 404


def test_the_page_counts_down_to_zero_and_shows_the_decisions(
    cast: Cast, deployment: Deployment
) -> None:
    page = signed_in(cast.member).get(f"/models/{deployment.model_id}/{deployment.id}/")
    html = folded(page.content.decode())
    assert "No request was in flight for 60 s; it may rise again." in html
    assert "It is scaled to zero" in html
    assert "1 → 3" in html
    assert "It rose 2." in html


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"target_in_flight_tokens": 9000, "concurrency_target": 2}, ["concurrency_target"]),
        ({"target_in_flight_tokens": 9000, "min_replica": 0}, ["min_replica"]),
        ({"min_replica": 2, "max_replica": 1}, ["min_replica", "max_replica"]),
        ({"max_scale_down_rate": 51}, ["max_scale_down_rate"]),
        ({"autoscaling_window": 9}, ["autoscaling_window"]),
    ],
)
def test_settings_that_cannot_be_followed_are_refused_by_name(
    cast: Cast, deployment: Deployment, changes: dict[str, int], fields: list[str]
) -> None:
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}/autoscaling_settings"
    status, body = client_of(cast.member).patch(path, changes)
    assert (status, body["fields"]) == (400, fields)


def test_tokens_as_the_target_bring_their_own_defaults(cast: Cast, deployment: Deployment) -> None:
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}"
    client = client_of(cast.member)
    assert client.patch(f"{path}/autoscaling_settings", {"target_in_flight_tokens": 9000})[0] == 200
    settings = client.get(path)[1]["autoscaling_settings"]
    assert (settings["min_replica"], settings["autoscaling_window"]) == (1, 300)

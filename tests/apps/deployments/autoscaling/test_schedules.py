"""Schedules of an environment: stored over REST, shown, and in force for what serves there."""

from datetime import UTC, datetime

import pytest

from apps.deployments.autoscaling.deciding import autoscale_round
from apps.deployments.autoscaling.schedules import settings_in_force
from apps.deployments.models import Deployment
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, make_deployment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
_MONDAY_NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
_OFFICE = {
    "name": "Office hours", "enabled": True, "cadence": "DAILY", "weekdays": ["MONDAY"],
    "start_hour": 8, "start_minute": 0, "end_hour": 18, "end_minute": 0,
    "autoscaling_settings": {"min_replica": 2, "max_replica": 3},
}  # fmt: skip


@pytest.fixture
def asleep(cast: Cast) -> Deployment:
    return make_deployment(
        team=cast.team, environment="production", state="scaled_to_zero", wanted_replicas=0
    )


@pytest.fixture
def client(cast: Cast) -> RestClient:
    return client_of(cast.member)


def _path(deployment: Deployment) -> str:
    return f"/v1/models/{deployment.model_id}/environments/production"


def _patch(client: RestClient, deployment: Deployment, **told: object) -> tuple[int, dict]:
    return client.patch(_path(deployment), {"autoscaling_schedule_settings": told})


def test_a_schedule_is_made_changed_and_removed_by_id(
    client: RestClient, asleep: Deployment
) -> None:
    assert client.get(_path(asleep))[1]["autoscaling_schedules"] is None
    status, body = _patch(client, asleep, timezone="Europe/Berlin", schedules=[_OFFICE])
    assert status == 200
    shown = body["environment"]["autoscaling_schedules"]
    [made] = shown["schedules"]
    assert (shown["timezone"], made["name"]) == ("Europe/Berlin", "Office hours")
    assert shown["applied_state"]["autoscaling_settings"]["max_replica"] in (1, 3)
    changed = _OFFICE | {"id": made["id"], "enabled": False}
    [made] = _patch(client, asleep, schedules=[changed])[1]["environment"]["autoscaling_schedules"][
        "schedules"
    ]
    assert not made["enabled"]
    _patch(client, asleep, delete_schedules=[made["id"]])
    assert client.get(_path(asleep))[1]["autoscaling_schedules"]["schedules"] == []


def test_its_least_number_wakes_what_sleeps_and_holds_only_at_its_times(
    client: RestClient, asleep: Deployment
) -> None:
    _patch(client, asleep, schedules=[_OFFICE])
    late = _MONDAY_NOON.replace(hour=19)
    assert settings_in_force([asleep], now=late)[asleep.id].min_replica == 0
    assert autoscale_round(now=late) == 0
    assert autoscale_round(now=_MONDAY_NOON) == 1
    woken = Deployment.objects.get(id=asleep.id)
    assert (woken.wanted_replicas, woken.state, woken.min_replica) == (2, "waking_up", 0)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"timezone": "Mars/Base"}, "`Mars/Base` is no time zone."),
        ({"delete_schedules": ["nobody"]}, "There is no schedule `nobody`."),
        ({"schedules": [_OFFICE | {"id": "nobody"}]}, "There is no schedule `nobody`."),
        ({"schedules": [_OFFICE | {"weekdays": []}]}, "is DAILY and has no `weekdays`"),
        ({"schedules": [_OFFICE | {"cadence": "ONE_TIME"}]}, "has no `start_at`"),
        (
            {"schedules": [_OFFICE | {"autoscaling_settings": {
                "min_replica": 2, "max_replica": 1}}]},
            "`min_replica` 2 above `max_replica` 1",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said(
    client: RestClient, asleep: Deployment, told: dict[str, object], words: str
) -> None:
    status, body = _patch(client, asleep, **told)
    assert status == 400
    assert words in body["message"]

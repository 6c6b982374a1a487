"""What is changed on pages: the size of a deployment, and the schedules of an environment."""

import re

import pytest
from django.test import Client

from apps.accounts.models import RestrictedEnvironment
from apps.deployments.models import Deployment, Environment
from controlplane.domain.scaling.settings import ScalingSettings
from tests.factories import Cast, make_deployment, make_environment

pytestmark = pytest.mark.django_db
_NIGHTS = {
    "name": "Nights", "cadence": "DAILY", "weekdays": ["SATURDAY", "SUNDAY"], "enabled": "on",
    "start_time": "22:30", "end_time": "06:00", "min_replica": "0", "max_replica": "1",
}  # fmt: skip
_LAUNCH = {
    "name": "Launch", "cadence": "ONE_TIME", "enabled": "on",
    "start_at": "2027-01-04T08:00", "end_at": "2027-01-04T20:00", "min_replica": "8",
    "max_replica": "8",
}  # fmt: skip


@pytest.fixture
def serving(cast: Cast) -> Deployment:
    return make_deployment(team=cast.team, environment="production")


@pytest.fixture
def browser(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.member)
    return client


def _path(deployment: Deployment) -> str:
    return f"/models/{deployment.model_id}/environments/production/schedules/"


def _stored(deployment: Deployment) -> list[dict]:
    place = Environment.objects.get(model=deployment.model, name="production")
    return place.autoscaling_schedules["schedules"]


def test_a_schedule_is_added_shown_in_words_changed_and_removed(
    browser: Client, serving: Deployment
) -> None:
    path = _path(serving)
    assert "No schedules yet" in browser.get(path).content.decode()
    assert browser.post(path, _NIGHTS).status_code == 302
    [made] = _stored(serving)
    assert (made["start_hour"], made["start_minute"], made["end_hour"]) == (22, 30, 6)
    shown = browser.get(path).content.decode()
    assert "Sat, Sun, 22:30 to 06:00" in shown
    assert "Maximum replicas: 1" in shown
    edited = browser.get(path, {"schedule": made["id"]}).content.decode()
    assert 'value="22:30"' in edited
    browser.post(f"{path}?schedule={made['id']}", _NIGHTS | {"name": "Weekends"})
    assert [(each["id"], each["name"]) for each in _stored(serving)] == [(made["id"], "Weekends")]
    browser.post(f"{path}delete/", {"schedule": made["id"]})
    assert _stored(serving) == []


def test_what_holds_once_is_typed_in_the_time_zone_of_the_schedules(
    browser: Client, serving: Deployment
) -> None:
    path = _path(serving)
    browser.post(f"{path}timezone/", {"timezone": "Asia/Tokyo"})
    browser.post(path, _LAUNCH)
    [made] = _stored(serving)
    assert made["start_at"] == "2027-01-03T23:00:00+00:00"
    assert "2027-01-04 08:00 to 2027-01-04 20:00" in browser.get(path).content.decode()
    assert "2027-01-04T08:00" in browser.get(path, {"schedule": made["id"]}).content.decode()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"weekdays": []}, "Choose at least one."),
        ({"start_time": ""}, "When?"),
        ({"cadence": "ONE_TIME"}, "When?"),
        (
            {"min_replica": "5", "max_replica": "2"},
            "<code>min_replica</code> 5 above <code>max_replica</code> 2",
        ),
        ({"min_replica": "2000"}, "less than or equal to 1000"),
    ],
)
def test_what_does_not_fit_together_is_said_and_what_was_typed_stays(
    browser: Client, serving: Deployment, typed: dict, words: str
) -> None:
    answer = browser.post(_path(serving), _NIGHTS | typed)
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert 'value="Nights"' in answer.content.decode()


def test_a_time_zone_that_is_none_is_refused_by_name(browser: Client, serving: Deployment) -> None:
    path = _path(serving)
    answer = browser.post(
        f"{path}timezone/", {"timezone": "Mars/Base"}, follow=True,
        headers={"referer": f"http://testserver{path}"},
    )  # fmt: skip
    assert "Mars/Base" in answer.content.decode()
    assert "is no time zone" in answer.content.decode()


def test_a_restricted_environment_shows_its_schedules_and_takes_none(
    browser: Client, serving: Deployment, cast: Cast
) -> None:
    RestrictedEnvironment.objects.create(team=cast.team, name="production")
    assert "restricted" in browser.get(_path(serving)).content.decode()
    assert browser.post(_path(serving), _NIGHTS).status_code == 403


def test_another_teams_environment_is_not_found(browser: Client) -> None:
    other = make_environment()
    path = f"/models/{other.model_id}/environments/{other.name}/schedules/"
    assert browser.get(path).status_code == 404


def test_the_size_is_changed_on_the_deployments_page_and_what_was_not_typed_keeps_its_default(
    browser: Client, serving: Deployment
) -> None:
    page = f"/models/{serving.model_id}/{serving.id}/"
    shown = browser.get(page).content.decode()
    form = dict(re.findall(r'<input[^>]* name="(\w+)" value="(\d+)"[^>]* id="size-', shown))
    assert form["scale_down_delay"] == "900"
    typed = {**form, "min_replica": "2", "max_replica": "4", "target_in_flight_tokens": ""}
    text = browser.post(f"{page}size/", typed, follow=True).content.decode()
    assert "It follows the load between 2 and 4 replicas." in text
    serving.refresh_from_db()
    assert (serving.min_replica, serving.max_replica) == (2, 4)
    assert serving.autoscaling.keys() <= {"min_replica", "max_replica"}
    place = Environment.objects.get(model=serving.model, name="production")
    assert place.autoscaling_settings["max_replica"] == 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_replica": "1", "min_replica": "2"}, "is above"),
        ({"scale_down_delay": ""}, "Scale-down delay (s): This field is required."),
        ({"scale_down_delay": "9999"}, "less than or equal to 3600"),
    ],
)
def test_a_size_that_cannot_be_is_refused_in_words_and_changes_nothing(
    browser: Client, serving: Deployment, wrong: dict[str, str], words: str
) -> None:
    before = (serving.min_replica, serving.max_replica)
    usual = {name: str(value) for name, value in ScalingSettings().to_json().items()}
    form = {**usual, "target_in_flight_tokens": "", **wrong}
    page = f"/models/{serving.model_id}/{serving.id}/size/"
    assert words in browser.post(page, form, follow=True).content.decode()
    serving.refresh_from_db()
    assert (serving.min_replica, serving.max_replica) == before

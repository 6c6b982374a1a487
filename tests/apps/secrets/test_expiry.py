"""Secrets that end: said on pages, in findings before the day, and in the way of builds after."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.alerts.evaluation import alerts_evaluate
from apps.builds.models import Build
from apps.configs.services.examination import examine_text
from apps.secrets.models import Secret
from apps.secrets.services.values import secret_reveal, secret_set
from controlplane import clock
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import (
    Cast,
    config_text,
    make_build,
    make_cast,
    make_deployment,
    make_model,
    make_revision,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
TEXT = config_text() + "secrets:\n  team-token: null\n"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def stored(cast: Cast, *, days: float | None) -> Secret:
    """A secret that ends in so many days, also days that are over."""
    secret = secret_set(team=cast.team, name="team_token", value="value", user=cast.owner)
    end = None if days is None else clock.now() + timedelta(days=days)
    Secret.objects.update(expires_at=end)
    secret.refresh_from_db()
    return secret


def codes(cast: Cast) -> set[str]:
    findings = examine_text(team=cast.team, text=TEXT).to_json()["findings"]
    return {f"{each['code']} {each['severity']}" for each in findings if each["code"] >= "EH828"}


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (None, set()),
        (40, set()),
        (14.5, {"EH828 warning"}),
        (0.5, {"EH828 warning"}),
        (-0.5, {"EH829 error"}),
    ],
)
def test_a_config_that_names_it_warns_before_and_is_blocked_after(
    cast: Cast, days: float | None, expected: set[str]
) -> None:
    stored(cast, days=days)
    assert {code for code in codes(cast) if code[:5] in ("EH828", "EH829")} == expected


def test_no_build_starts_with_a_secret_that_has_expired(cast: Cast) -> None:
    stored(cast, days=-1)
    client = client_of(cast.owner)
    _, config = client.post("/v1/configs", {"name": "chat", "text": TEXT})
    status, refused = client.post("/v1/builds", {"config_id": config["id"]})
    assert status in (400, 409), refused
    assert "EH829" in str(refused) + str(client.get(f"/v1/configs/{config['id']}"))
    assert Build.objects.count() == 0


def test_a_new_value_brings_its_own_day(cast: Cast) -> None:
    client = client_of(cast.owner)
    body = {"name": "a", "value": "v", "expires_at": "2090-01-02T03:04:05Z"}
    assert client.post("/v1/secrets", body)[1]["expires_at"].startswith("2090-01-02T03:04:05")
    status, moved = client.patch("/v1/secrets/a", {"expires_at": "2091-01-01T00:00:00Z"})
    assert (status, moved["expires_at"][:4], moved["updated_by"]) == (200, "2091", cast.owner.email)
    assert secret_reveal(team=cast.team, name="a") == "v"
    assert client.post("/v1/secrets", {"name": "a", "value": "w"})[1]["expires_at"] is None
    status, refused = client.patch("/v1/secrets/a", {"expires_at": "2020-01-01T00:00:00Z"})
    assert (status, refused["fields"]) == (400, ["expires_at"])


def test_the_pages_say_what_ends(cast: Cast) -> None:
    secret = stored(cast, days=3)
    page = signed_in(cast.member)
    assert "soon" in page.get("/secrets/").content.decode()
    alerts_evaluate()
    assert "before builds stop" in page.get("/").content.decode()
    stored(cast, days=-3)
    assert "expired" in page.get("/secrets/").content.decode()
    alerts_evaluate()
    assert "No build starts with it" in page.get("/").content.decode()
    assert "expired" in page.get(f"/secrets/{secret.id}/").content.decode()
    assert "team_token" not in signed_in(cast.outsider).get("/").content.decode()


def test_the_day_is_set_and_cleared_on_the_page(cast: Cast) -> None:
    secret = stored(cast, days=None)
    page = signed_in(cast.owner)
    page.post(f"/secrets/{secret.id}/expiry/", {"expires_at": "2090-05-06"})
    secret.refresh_from_db()
    assert secret.expires_at == datetime(2090, 5, 6, tzinfo=UTC)
    page.post(f"/secrets/{secret.id}/expiry/", {"expires_at": "2020-05-06"})
    secret.refresh_from_db()
    assert secret.expires_at == datetime(2090, 5, 6, tzinfo=UTC)
    page.post(f"/secrets/{secret.id}/expiry/", {"expires_at": ""})
    secret.refresh_from_db()
    assert secret.expires_at is None
    page.post("/secrets/", {"name": "b", "value": "v", "expires_at": "2090-05-06"})
    assert Secret.objects.get(name="b").expires_at == datetime(2090, 5, 6, tzinfo=UTC)


def test_configs_builds_and_deployments_that_use_it_are_linked(cast: Cast) -> None:
    secret = stored(cast, days=None)
    revision = make_revision(team=cast.team, secret_names=["team_token"])
    build = make_build(revision=revision)
    deployment = make_deployment(model=make_model(team=cast.team), build=build, artifact=None)
    _, listed = client_of(cast.member).get("/v1/secrets")
    used = {each["kind"]: each for each in listed["secrets"][0]["used_by"]}
    assert set(used) == {"config", "build", "deployment"}
    page = signed_in(cast.member)
    shown = page.get(f"/secrets/{secret.id}/").content.decode()
    for use in used.values():
        assert f'href="{use["url"]}"' in shown
        assert page.get(use["url"]).status_code == 200
    assert used["deployment"]["id"] == deployment.id

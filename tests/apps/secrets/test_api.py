"""The REST of secrets: a value goes in and comes out of no answer and no log."""

import logging

import pytest
from pytest_django import Settings

from apps.secrets.models import Secret
from apps.secrets.services.values import secret_reveal
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, make_api_key, make_cast

pytestmark = pytest.mark.django_db

VALUE = "hf_CanaryCanaryCanary"
EMPTY = {"secrets": [], "pagination": {"has_more": False, "cursor": None}}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_owner_and_member_set_list_and_delete(cast: Cast) -> None:
    for client in (client_of(cast.owner), client_of(cast.member)):
        status, body = client.post("/v1/secrets", {"name": "hf-access-token", "value": VALUE})
        assert (status, body["name"], body["team_name"]) == (200, "hf_access_token", "inside")
        status, listed = client.get("/v1/secrets")
        assert [each["name"] for each in listed["secrets"]] == ["hf_access_token"]
        assert client.delete("/v1/secrets/hf-access-token") == (200, {"name": "hf_access_token"})
        assert client.get(f"/v1/teams/{cast.team.id}/secrets") == (200, EMPTY)


def test_an_outsider_learns_nothing(cast: Cast) -> None:
    client_of(cast.owner).post("/v1/secrets", {"name": "theirs", "value": VALUE})
    outsider = client_of(cast.outsider)
    assert outsider.get("/v1/secrets") == (200, EMPTY)
    missing = outsider.delete("/v1/secrets/theirs")
    assert missing[0] == 404
    path = f"/v1/teams/{cast.team.id}/secrets"
    for status, _ in (
        outsider.get(path),
        outsider.post(path, {"name": "theirs", "value": "mine"}),
        outsider.delete(f"{path}/theirs"),
    ):
        assert status == 404
    assert secret_reveal(team=cast.team, name="theirs") == VALUE


def test_without_a_key_nothing_happens(cast: Cast) -> None:
    nobody = RestClient(None)
    assert nobody.get("/v1/secrets")[0] == 401
    assert nobody.post("/v1/secrets", {"name": "a", "value": "b"})[0] == 401
    assert Secret.objects.count() == 0


def test_a_value_is_in_no_answer_and_no_log(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = client_of(cast.owner)
    answers = [
        client.post("/v1/secrets", {"name": "a", "value": VALUE}),
        client.post("/v1/secrets", {"name": "a b", "value": VALUE}),
        client.post("/v1/secrets", {"name": "a", "value": VALUE, "vlaue": VALUE}),
        client.post("/v1/secrets", {"name": "a", "value": {"nested": VALUE}}),
        client.get("/v1/secrets"),
    ]
    assert [status for status, _ in answers] == [200, 400, 400, 400, 200]
    assert VALUE not in str(answers)
    assert VALUE not in caplog.text


def test_a_lost_key_ring_is_our_fault_and_said_in_the_log(cast: Cast, settings: Settings) -> None:
    client = client_of(cast.owner)
    client.post("/v1/secrets", {"name": "a", "value": VALUE})
    settings.KEY_RING_FILE.unlink()
    status, body = client.post("/v1/secrets", {"name": "b", "value": VALUE})
    assert (status, body["code"]) == (500, "key_ring")


def test_other_columns_cannot_be_set(cast: Cast) -> None:
    client = client_of(cast.owner)
    for field in ("id", "team", "team_id", "key_id", "created_at"):
        status, body = client.post("/v1/secrets", {"name": "a", "value": "b", field: "x"})
        assert (status, body["code"], body["fields"]) == (400, "unknown_field", [field])


def test_a_full_team_key_sets_secrets(cast: Cast) -> None:
    client = RestClient(make_api_key(team=cast.team))
    assert client.post("/v1/secrets", {"name": "a", "value": " padded "})[0] == 200
    assert secret_reveal(team=cast.team, name="a") == " padded "

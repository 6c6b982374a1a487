"""Keys: made once, kept as a hash, good for what their type says, and over when revoked."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.permissions import MATRIX, Action, Actor, Role, require
from apps.accounts.routes_version import routes_version_current
from apps.rest.errors import NotAllowed
from apps.routes.snapshot import routes_snapshot
from controlplane import clock
from tests.apps.pages import signed_in
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, make_api_key, make_cast, make_environment, make_model

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_a_key_has_256_random_bits_and_only_its_hash_is_stored(cast: Cast) -> None:
    status, body = client_of(cast.owner).post(
        "/v1/api_keys", {"type": "WORKSPACE_MANAGE_ALL", "name": "ci"}
    )
    assert status == 200
    prefix, secret = body["api_key"].split(".")
    assert len(secret) == 43
    stored = ApiKey.objects.get(prefix=prefix)
    assert stored.secret_sha256 == hashlib.sha256(body["api_key"].encode()).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM accounts_apikey k")
        assert not any(secret in row for (row,) in cursor.fetchall())


@pytest.mark.parametrize("scheme", ["Bearer", "Api-Key", "api-key"])
def test_both_spellings_of_the_header_work(cast: Cast, scheme: str) -> None:
    key = make_api_key(user=cast.member, type="PERSONAL")
    status, body = RestClient(key, scheme=scheme).get("/v1/users/me")
    assert (status, body["email"]) == (200, "member@example.com")


@pytest.mark.parametrize(
    "changes",
    [
        {"revoked_at": clock.now()},
        {"expires_at": clock.now() - timedelta(seconds=1)},
    ],
    ids=["revoked", "expired"],
)
def test_a_key_that_is_over_and_one_that_never_was_get_the_same_answer(
    cast: Cast, changes: dict[str, Any]
) -> None:
    over = RestClient(make_api_key(team=cast.team, **changes)).get("/v1/teams")
    unknown = RestClient("aaaaaaaa.bbbbbbbb").get("/v1/teams")
    assert over == unknown
    assert over[0] == 401
    assert over[1]["code"] == "unauthenticated"


def test_a_personal_key_ends_with_its_person(cast: Cast) -> None:
    client = client_of(cast.member)
    cast.member.is_active = False
    cast.member.save()
    assert client.get("/v1/teams")[0] == 401


def test_without_a_key_nothing_is_said(cast: Cast) -> None:
    for path in (
        "/v1/teams",
        "/v1/api_keys",
        f"/v1/teams/{cast.team.id}",
        "/v1/nothing/here",
        "/v1/",
        "/v1",
    ):
        status, body = RestClient(None).get(path)
        assert (status, body["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("type", ["WORKSPACE_INVOKE", "WORKSPACE_EXPORT_METRICS"])
def test_keys_for_calling_and_for_metrics_manage_nothing(cast: Cast, type: str) -> None:
    client = RestClient(make_api_key(team=cast.team, type=type))
    for status, body in (
        client.get("/v1/teams"),
        client.get("/v1/api_keys"),
        client.post("/v1/api_keys", {"type": "WORKSPACE_MANAGE_ALL"}),
        client.post("/v1/secrets", {"name": "a", "value": "b"}),
    ):
        assert (status, body["code"]) == (403, "not_allowed")


def test_no_key_is_told_to_be_replaced_by_one_of_its_own_kind(cast: Cast) -> None:
    for role in (Role.TEAM_KEY, Role.LIMITED_KEY):
        type = "WORKSPACE_MANAGE_ALL" if role is Role.TEAM_KEY else "WORKSPACE_INVOKE"
        key = ApiKey.objects.get(prefix=make_api_key(team=cast.team, type=type)[:8])
        for action in set(Action) - MATRIX[role]:
            with pytest.raises(NotAllowed) as refused:
                require(Actor(team=cast.team, api_key=key), action)
            helps = action in MATRIX[Role.TEAM_KEY]
            assert ("WORKSPACE_MANAGE_ALL" in (refused.value.hint or "")) == helps
            by_admins = action not in MATRIX[Role.TEAM_ADMIN]
            assert ("admin of the organisation" in (refused.value.hint or "")) == by_admins


def test_the_owner_and_a_full_team_key_make_team_keys_and_a_member_does_not(cast: Cast) -> None:
    model = make_model(team=cast.team)
    body = {"type": "WORKSPACE_INVOKE", "model_ids": [model.id]}
    assert client_of(cast.owner).post("/v1/api_keys", body)[0] == 200
    team_key = RestClient(make_api_key(team=cast.team))
    assert team_key.post(f"/v1/teams/{cast.team.id}/api_keys", body)[0] == 200
    assert client_of(cast.member).post("/v1/api_keys", body)[0] == 403
    assert ApiKey.objects.filter(type="WORKSPACE_INVOKE", model_ids=[model.id]).count() == 2


def test_everybody_makes_personal_keys_and_a_team_key_does_not(cast: Cast) -> None:
    status, body = client_of(cast.member).post("/v1/api_keys", {"type": "PERSONAL"})
    assert status == 200
    assert RestClient(body["api_key"]).get("/v1/users/me")[1]["user_id"] == cast.member.id
    team_key = RestClient(make_api_key(team=cast.team))
    assert team_key.post("/v1/api_keys", {"type": "PERSONAL"})[0] == 403
    assert team_key.get("/v1/users/me")[0] == 404


def test_an_outsider_cannot_make_list_or_revoke_keys_of_the_team(cast: Cast) -> None:
    key = make_api_key(team=cast.team, name="theirs")
    outsider = client_of(cast.outsider)
    path = f"/v1/teams/{cast.team.id}/api_keys"
    assert outsider.post(path, {"type": "WORKSPACE_INVOKE"})[0] == 404
    assert all(each["name"] != "theirs" for each in outsider.get("/v1/api_keys")[1]["keys"])
    foreign = outsider.delete(f"/v1/api_keys/{key[:8]}")
    assert foreign[0] == outsider.delete("/v1/api_keys/zzzzzzzz")[0] == 404
    assert RestClient(key).get("/v1/teams")[0] == 200


def test_revoking_ends_a_key_at_once_and_bumps_the_routes(cast: Cast) -> None:
    owner, key = client_of(cast.owner), make_api_key(team=cast.team)
    before = routes_version_current()
    assert owner.delete(f"/v1/api_keys/{key[:8]}") == (200, {"prefix": key[:8]})
    assert routes_version_current() == before + 1
    assert RestClient(key).get("/v1/teams")[0] == 401
    assert owner.delete(f"/v1/api_keys/{key[:8]}")[0] == 404


def test_making_a_key_bumps_the_routes(cast: Cast) -> None:
    before = routes_version_current()
    client_of(cast.owner).post("/v1/api_keys", {"type": "WORKSPACE_INVOKE"})
    assert routes_version_current() == before + 1


def test_a_member_sees_team_keys_and_own_ones_by_prefix_alone(cast: Cast) -> None:
    make_api_key(team=cast.team, name="shared")
    make_api_key(user=cast.owner, type="PERSONAL", name="private")
    status, body = client_of(cast.member).get("/v1/api_keys")
    assert status == 200
    assert {each["name"] for each in body["keys"]} == {"", "shared"}
    assert all("." not in each["prefix"] for each in body["keys"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "type"),
        ({"type": "GOD"}, "type"),
        ({"type": "WORKSPACE_INVOKE", "name": "Upper"}, "name"),
        ({"type": "WORKSPACE_MANAGE_ALL", "model_ids": ["a"]}, "model_ids"),
        ({"type": "WORKSPACE_INVOKE", "monthly_spend": ""}, "monthly_spend"),
        ({"type": "WORKSPACE_INVOKE", "monthly_spend": " "}, "monthly_spend"),
        ({"type": "WORKSPACE_INVOKE", "requests_per_minute": ""}, "requests_per_minute"),
        ({"type": "WORKSPACE_INVOKE", "expires_at": ""}, "expires_at"),
        ({"type": "WORKSPACE_INVOKE", "team_id": "other"}, "team_id"),
        ({"type": "WORKSPACE_INVOKE", "secret_sha256": "ab" * 32}, "secret_sha256"),
    ],
)
def test_a_wrong_body_names_its_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    status, answer = client_of(cast.owner).post("/v1/api_keys", body)
    assert (status, answer["fields"]) == (400, [field])


def test_a_key_is_limited_to_models_of_its_team_alone(cast: Cast) -> None:
    own, foreign = make_model(team=cast.team), make_model(team=cast.outsider.team)
    body = {"type": "WORKSPACE_INVOKE", "model_ids": [own.id, foreign.id, "nothere"]}
    status, answer = client_of(cast.owner).post("/v1/api_keys", body)
    assert (status, answer["fields"]) == (400, ["model_ids"])
    assert f"has no model `{foreign.id}`, `nothere`." in answer["message"]
    assert not ApiKey.objects.filter(type="WORKSPACE_INVOKE").exists()


def test_a_key_is_limited_to_environments_that_there_are(cast: Cast) -> None:
    own, bare = make_model(team=cast.team), make_model(team=cast.team)
    make_environment(model=own, name="staging")
    make_environment(model=make_model(team=cast.outsider.team), name="theirs")
    client = client_of(cast.owner)
    target = {"type": "WORKSPACE_INVOKE"}
    for names, unknown in (
        (["prodution"], "`prodution`"),
        (["staging", "theirs", "production2"], "`theirs`, `production2`"),
    ):
        status, answer = client.post("/v1/api_keys", target | {"environments": names})
        assert (status, answer["fields"]) == (400, ["environments"])
        assert f"has no environment {unknown}." in answer["message"]
    limited = target | {"environments": ["staging"], "model_ids": [bare.id]}
    status, answer = client.post("/v1/api_keys", limited)
    assert (status, answer["fields"]) == (400, ["environments"])
    assert "These models have no environment `staging`." in answer["message"]
    assert not ApiKey.objects.filter(type="WORKSPACE_INVOKE").exists()
    whole = {"environments": ["staging", "production", "development"]}
    assert client.post("/v1/api_keys", target | whole)[0] == 200


@pytest.mark.parametrize(
    "body", [{"name": "My Key"}, {"environments": ["My Key"]}], ids=["name", "environments"]
)
def test_a_text_of_the_wrong_form_is_repeated_in_the_error(
    cast: Cast, body: dict[str, Any]
) -> None:
    _, answer = client_of(cast.owner).post("/v1/api_keys", {"type": "WORKSPACE_INVOKE"} | body)
    assert "`My Key` " in answer["message"]
    assert "{" not in answer["message"]


def test_a_refused_form_keeps_what_was_typed(cast: Cast) -> None:
    form = {"name": "ci", "type": "WORKSPACE_INVOKE", "model_ids": "nothere"}
    page = signed_in(cast.owner).post("/keys/create/", form)
    assert page.status_code == 400
    assert "has no model <code>nothere</code>" in page.content.decode()
    assert 'value="nothere"' in page.content.decode()


def test_use_is_noted_at_most_once_a_minute(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    client = RestClient(key)
    client.get("/v1/teams")
    stored = ApiKey.objects.get(prefix=key[:8])
    assert stored.last_used_at is not None
    client.get("/v1/teams")
    assert ApiKey.objects.get(prefix=key[:8]).last_used_at == stored.last_used_at


def test_types_are_those_of_the_hosted_product() -> None:
    assert set(ApiKeyType.values) >= {"PERSONAL", "WORKSPACE_MANAGE_ALL", "WORKSPACE_INVOKE"}


def test_limits_reach_gateways_and_the_list(cast: Cast) -> None:
    limits = {
        "environments": ["production"],
        "requests_per_minute": 60,
        "tokens_per_minute": 1000,
        "parallel_requests": 2,
        "monthly_spend": "12.50",
        "expires_at": "2999-01-01T00:00:00Z",
    }
    client = client_of(cast.owner)
    status, made = client.post("/v1/api_keys", {"type": "WORKSPACE_INVOKE"} | limits)
    assert status == 200
    row = routes_snapshot()["keys"][hashlib.sha256(made["api_key"].encode()).hexdigest()]
    assert row["environments"] == ["production"]
    assert row["limits"] == {
        "requests_per_minute": 60,
        "tokens_per_minute": 1000,
        "parallel_requests": 2,
        "spent_until": None,
        "spend": {},
    }
    listed = client.get("/v1/api_keys")[1]["keys"]
    key = next(key for key in listed if key["type"] == "WORKSPACE_INVOKE")
    assert {name: key[name] for name in limits} == limits


@pytest.mark.parametrize(
    "limits",
    [
        {"environments": ["production"], "type": "WORKSPACE_MANAGE_ALL"},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"requests_per_minute": 0},
        {"monthly_spend": "-1"},
    ],
)
def test_limits_that_cannot_be_are_refused(cast: Cast, limits: dict[str, Any]) -> None:
    body = {"type": "WORKSPACE_INVOKE"} | limits
    assert client_of(cast.owner).post("/v1/api_keys", body)[0] == 400


def test_the_page_takes_limits_and_shows_them(cast: Cast) -> None:
    make_environment(model=make_model(team=cast.team), name="staging")
    browser = signed_in(cast.owner)
    form = {"name": "ci", "type": "WORKSPACE_INVOKE", "environments": "staging"}
    page = browser.post("/keys/create/", form | {"tokens_per_minute": "500"})
    shown = page.content.decode()
    assert page.status_code == 200
    assert "only staging" in shown
    assert "500 tokens/min" in shown

"""Idempotency keys, ETags and rate limits of /v1, asked over HTTP."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from django.test import Client
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from apps.accounts.hashing import new_secret
from apps.accounts.models import ApiKey
from apps.configs.models import Config
from apps.rest import rate_limits
from apps.rest.api_view import ApiView
from apps.rest.models import AnsweredRequest
from apps.rest.rate_limits import CallerThrottle
from tests.factories import Cast, config_text, make_api_key, make_cast
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def ask(method: str, path: str, key: str, body: Any = None, **headers: str) -> Any:
    sent = {} if method == "get" else {"data": body or {}, "content_type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return getattr(Client(), method)(
        path, **sent, headers={"authorization": f"Bearer {key}"} | named
    )


def new_config(name: str = "once") -> dict[str, Any]:
    return {"name": name, "text": config_text()}


def test_a_repeated_post_is_carried_out_once_and_answered_as_the_first(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    first = ask("post", "/v1/configs", key, new_config(), idempotency_key="a")
    again = ask("post", "/v1/configs", key, new_config(), idempotency_key="a")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert Config.objects.filter(team=cast.team).count() == 1


def test_one_key_is_for_one_body_and_one_path(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    ask("post", "/v1/configs", key, new_config(), idempotency_key="a")
    for path, body in (("/v1/configs", new_config("other")), ("/v1/configs/check", new_config())):
        answer = ask("post", path, key, body, idempotency_key="a")
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")


def test_the_same_key_of_another_caller_is_another_key(cast: Cast) -> None:
    made = {
        ask("post", "/v1/configs", make_api_key(user=user, type="PERSONAL"), new_config(),
            idempotency_key="a").json()["id"]
        for user in (cast.owner, cast.outsider)
    }  # fmt: skip
    assert len(made) == 2


def test_after_a_refusal_the_key_is_free_again(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    assert ask("post", "/v1/configs", key, {}, idempotency_key="a").status_code == 400
    assert ask("post", "/v1/configs", key, new_config(), idempotency_key="a").status_code == 201


def test_what_is_under_way_is_not_begun_a_second_time(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    ask("post", "/v1/configs", key, new_config(), idempotency_key="a")
    AnsweredRequest.objects.update(status=None)
    answer = ask("post", "/v1/configs", key, new_config(), idempotency_key="a")
    assert (answer.status_code, answer.json()["code"]) == (409, "request_under_way")


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_one(cast: Cast) -> None:
    key = make_api_key(team=cast.team)

    def send(_: int) -> int:
        try:
            status: int = ask(
                "post", "/v1/configs", key, new_config(), idempotency_key="a"
            ).status_code
            return status
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = set(pool.map(send, range(4)))
    assert 201 in statuses <= {201, 409}
    assert Config.objects.filter(team=cast.team).count() == 1


def test_no_secret_and_no_key_is_kept_with_an_answer(
    cast: Cast, settings: Any, tmp_path: Any
) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    key = make_api_key(user=cast.owner, type="PERSONAL")
    text = ask(
        "post", "/v1/api_keys", key, {"type": "WORKSPACE_INVOKE"}, idempotency_key="k"
    ).json()["api_key"]
    again = ask("post", "/v1/api_keys", key, {"type": "WORKSPACE_INVOKE"}, idempotency_key="k")
    assert (again.status_code, again.json()["code"]) == (409, "shown_once")
    assert ApiKey.objects.filter(type="WORKSPACE_INVOKE").count() == 1
    ask("post", "/v1/secrets", key, {"name": "n", "value": "canary-value"}, idempotency_key="s")
    kept = json.dumps(list(AnsweredRequest.objects.values("answer", "request_hmac", "key")))
    assert text not in kept
    assert "canary-value" not in kept


def test_an_invitations_link_is_not_kept_with_its_answer(cast: Cast) -> None:
    key, path = (
        make_api_key(user=cast.owner, type="PERSONAL"),
        f"/v1/teams/{cast.team.id}/invitations",
    )
    body = {"email": "new@example.com", "role": "member"}
    assert ask("post", path, key, body, idempotency_key="i").status_code == 201
    again = ask("post", path, key, body, idempotency_key="i")
    assert (again.status_code, again.json()["code"]) == (409, "shown_once")
    assert AnsweredRequest.objects.get().answer is None


def test_no_view_has_to_say_that_its_answer_shows_a_new_secret() -> None:
    class Unsuspecting(ApiView):
        authentication_classes = permission_classes = ()

        def post(self, request: Request) -> Response:
            return Response({"deep": [{"link": f"https://example.com/{new_secret()}/"}]})

    sent = APIRequestFactory().post("/", {}, format="json", headers={"Idempotency-Key": "a"})
    assert Unsuspecting.as_view()(sent).status_code == 200
    row = AnsweredRequest.objects.get()
    assert (row.status, row.is_shown_once, row.answer) == (200, True, None)


@pytest.mark.parametrize("key", ["", "x" * 256, "é"])
def test_a_key_that_cannot_be_one_is_refused(cast: Cast, key: str) -> None:
    answer = ask("post", "/v1/configs", make_api_key(team=cast.team), {}, idempotency_key=key)
    assert answer.status_code == 400
    assert "Idempotency-Key" in answer.json()["message"]


def test_what_a_client_has_already_is_not_sent_again(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    first = ask("get", "/v1/configs", key)
    again = ask("get", "/v1/configs", key, if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    ask("post", "/v1/configs", key, new_config())
    assert ask("get", "/v1/configs", key, if_none_match=first["ETag"]).status_code == 200


def test_nobody_overwrites_what_they_did_not_see(cast: Cast) -> None:
    key = make_api_key(user=cast.organisation_admin, type="PERSONAL")
    path = f"/v1/teams/{cast.team.id}"
    tag = ask("get", path, key)["ETag"]
    assert ask("patch", path, key, {"name": "renamed"}, if_match=tag).status_code == 200
    stale = ask("patch", path, key, {"name": "again"}, if_match=tag)
    assert (stale.status_code, stale.json()["code"]) == (412, "changed_since")
    assert (
        ask(
            "patch", path, key, {"name": "third"}, if_match=stale.json()["details"]["etag"]
        ).status_code
        == 200
    )
    assert ask("delete", path, key, if_match=tag).status_code == 412
    assert ask("patch", path, key, {"name": "fourth"}, if_match="*").status_code == 200


def test_a_revision_can_be_guarded_by_the_list_of_revisions(cast: Cast) -> None:
    key = make_api_key(team=cast.team)
    path = f"/v1/configs/{ask('post', '/v1/configs', key, new_config()).json()['id']}/revisions"
    tag = ask("get", path, key)["ETag"]
    body = {"text": config_text("/checkpoints/b"), "expected_revision": 1}
    assert ask("post", path, key, body, if_match=tag).status_code == 201
    assert ask("post", path, key, body | {"expected_revision": 2}, if_match=tag).status_code == 412


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """By which callers are counted, in a process that has counted nobody yet."""
    clock = ManualClock(datetime(2026, 11, 27, 12, 1, 52, 400_000, tzinfo=UTC))
    monkeypatch.setattr(CallerThrottle, "clock", clock)
    monkeypatch.setattr(CallerThrottle, "silent_until", 0.0)
    return clock


@pytest.fixture
def counted(broker: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Valkey counts callers, however long it takes."""
    patient = RedisCache(broker, {"OPTIONS": {}})
    monkeypatch.setattr(rate_limits, "_counts", lambda: patient)


@pytest.mark.usefixtures("counted")
def test_a_caller_who_asks_too_often_is_told_when_to_come_back(cast: Cast, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    key = make_api_key(team=cast.team)
    answers = [ask("get", "/v1/teams", key) for _ in range(5)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
    assert answers[0]["RateLimit-Limit"] == "3"
    assert answers[0]["RateLimit-Remaining"] == "2"
    refused = answers[3]
    assert refused.json()["code"] == "too_many_requests"
    assert (refused["Retry-After"], refused["RateLimit-Reset"]) == ("8", "8")
    assert refused["RateLimit-Remaining"] == "0"
    assert ask("get", "/v1/teams", make_api_key(team=cast.team)).status_code == 200


@pytest.mark.usefixtures("counted")
def test_who_waits_as_long_as_told_is_served(cast: Cast, settings: Any, clock: ManualClock) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1
    key = make_api_key(team=cast.team)
    assert ask("get", "/v1/teams", key).status_code == 200
    refused = ask("get", "/v1/teams", key)
    assert (refused.status_code, refused["Retry-After"]) == (429, "8")
    clock.advance(7)
    assert ask("get", "/v1/teams", key)["Retry-After"] == "1"
    clock.advance(1)
    assert ask("get", "/v1/teams", key).status_code == 200


def test_without_valkey_callers_are_served_and_it_is_left_alone_for_a_while(
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    nobody = RedisCache("redis://127.0.0.1:1/0", {})
    monkeypatch.setattr(rate_limits, "_counts", lambda: nobody)
    key = make_api_key(team=cast.team)
    for seconds, tried in ((0, 1), (4.9, 1), (0.2, 2)):
        clock.advance(seconds)
        assert ask("get", "/v1/teams", key).status_code == 200
        assert caplog.text.count("rate limits are not counted") == tried

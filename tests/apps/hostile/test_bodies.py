"""Bodies made to hurt: bombs, depth, NUL, surrogates, fields that are not the caller's to set."""

import json
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Team, User
from apps.builds.models import Build
from apps.configs.models import Config
from tests.counted_calls import calls_made_by
from tests.factories import Cast, config_text, make_api_key, make_cast

pytestmark = pytest.mark.django_db

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
BOMBS = {
    "aliases": LAUGHS,
    "depth": "a: " + "[" * 50_000,
    "block depth": "\n".join(" " * level + "a:" for level in range(400)),
    "scalar": f"model_name: {'x' * 200_000}",
    "integer": f"model_name: {'9' * 100_000}",
    "merge keys": "a: &a {b: 1}\n" + "".join(
        f"k{n}: &k{n}\n  <<: [{', '.join(['*a' if n == 0 else f'*k{n - 1}'] * 30)}]\n"
        for n in range(30)
    ),
    "itself": "a: &a [*a]",
    "python object": "a: !!python/object/apply:os.system ['touch /nothing']",
    "NUL": "model_name: 'a\\0b'\nx: \x00",
    "many documents": "---\na: 1\n" * 5_000,
}  # fmt: skip
MOST_CALLS = 500_000
"""The costliest of them makes half as many, an ordinary config 35,000."""


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def send(key: str, path: str, raw: bytes | str) -> Any:
    return Client().post(
        path, raw, content_type="application/json", headers={"authorization": f"Bearer {key}"}
    )


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_yaml_is_an_error_at_once(cast: Cast, name: str) -> None:
    key = make_api_key(team=cast.team)
    send(key, "/v1/configs/check", json.dumps({"text": config_text()}))  # what is made once
    answers: list[Any] = []
    body = json.dumps({"text": BOMBS[name]})
    calls = calls_made_by(lambda: answers.append(send(key, "/v1/configs/check", body)))
    assert calls < MOST_CALLS
    (answer,) = answers
    assert answer.status_code in {200, 400}
    if answer.status_code == 200:
        severities = {each["severity"] for each in answer.json()["findings"]}
        assert "error" in severities


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"name": NaN, "text": "a"}',
        b"\xff\xfe",
        b'{"name": "a", "text": ' + b"9" * 100_000 + b"}",
        b'"\x00"',
        b"",
        b"null",
        b"0",
    ],
)
def test_json_made_to_hurt_is_a_400(cast: Cast, raw: bytes) -> None:
    answer = send(make_api_key(team=cast.team), "/v1/configs", raw)
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] in {"malformed_body", "invalid_input"}


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\u202e", "\ufeff"])
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/configs", ("name", "text")),
        ("/v1/secrets", ("name", "value")),
        ("/v1/api_keys", ("type", "name")),
        ("/v1/teams", ("name",)),
        ("/v1/configs/check", ("text",)),
        ("/v1/configs/import", ("command",)),
        ("/v1/builds", ("config_id",)),
    ],
)
def test_no_character_breaks_us(
    cast: Cast, settings: Any, tmp_path: Any, path: str, fields: tuple[str, ...], text: str
) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    key = make_api_key(user=cast.organisation_admin, type="PERSONAL")
    for field in fields:
        good = {"name": "n", "text": config_text(), "value": "v", "type": "WORKSPACE_INVOKE"}
        body = {each: good.get(each, "x") for each in fields} | {field: text}
        answer = send(key, path, json.dumps(body))
        assert answer.status_code < 500, (field, answer.content)


def test_no_field_makes_somebody_more_than_they_are(cast: Cast) -> None:
    key = make_api_key(user=cast.member, type="PERSONAL")
    extra = {"team": "x", "team_id": cast.outsider.team_id, "id": "mine", "is_admin": True,
             "state": "succeeded", "created_by": cast.owner.id, "blocks_build": False}  # fmt: skip
    good: dict[str, dict[str, Any]] = {
        "/v1/configs": {"name": "n", "text": config_text()},
        "/v1/secrets": {"name": "n", "value": "v"},
        "/v1/api_keys": {"type": "PERSONAL"},
        "/v1/builds": {"config_id": "zzzzzzzz"},
    }
    for path, body in good.items():
        for name, value in extra.items():
            answer = send(key, path, json.dumps(body | {name: value}))
            assert (answer.status_code, answer.json()["code"]) == (400, "unknown_field"), path
    assert not Config.objects.exists()
    assert not Build.objects.exists()


def test_a_form_of_a_page_takes_no_more_fields_than_it_shows(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.member)
    client.post("/account/password/", {"is_admin": "on", "team": cast.outsider.team_id})
    client.post(
        "/people/invite/",
        {"email": "x@example.com", "role": "admin", "team": cast.outsider.team_id},
    )
    client.post(f"/people/{cast.member.id}/role/", {"role": "admin"})
    client.post(f"/people/{cast.member.id}/status/", {"is_admin": "on"})
    member = User.objects.get(id=cast.member.id)
    assert (member.is_admin, member.team_id) == (False, cast.team.id)
    assert member.memberships.get().role == "member"
    assert not Team.objects.get(id=cast.outsider.team_id).invitations.exists()


def test_a_body_that_never_ends_is_cut_off(cast: Cast, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000
    raw = json.dumps({"name": "n", "text": "x" * 20_000})
    answer = send(make_api_key(team=cast.team), "/v1/configs", raw)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")

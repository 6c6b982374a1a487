"""Signing in and out, and the page of keys."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from apps.accounts.hashing import sha256_hex
from apps.accounts.models import ApiKey
from apps.accounts.signing_in.links import sign_in_link_create
from tests.apps.pages import signed_in
from tests.factories import make_api_key, make_cast, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_every_page_sends_a_stranger_to_sign_in_and_back() -> None:
    answer = Client().get("/configs/")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/sign-in/?next=/configs/"


def test_a_password_opens_the_page_that_was_asked_for() -> None:
    make_user(email="ada@example.com", password="a long enough password")
    form = {"email": "ada@example.com", "password": "a long enough password", "next": "/builds/"}
    answer = Client().post("/sign-in/", form)
    assert answer.headers["Location"] == "/builds/"


def test_a_wrong_password_says_so_and_nothing_more() -> None:
    answer = Client().post("/sign-in/", {"email": "nobody@example.com", "password": "x"})
    assert answer.status_code == 401
    assert "do not match" in answer.content.decode()


def test_a_next_page_elsewhere_is_not_followed() -> None:
    make_user(email="ada@example.com", password="a long enough password")
    form = {
        "email": "ada@example.com",
        "password": "a long enough password",
        "next": "https://elsewhere.example/",
    }
    assert Client().post("/sign-in/", form).headers["Location"] == "/"


def test_a_link_is_spent_by_pressing_the_button_and_not_by_a_preview() -> None:
    token = sign_in_link_create(user=make_user())
    client = Client()
    assert client.get(f"/sign-in/{token}/").status_code == 200
    assert client.post(f"/sign-in/{token}/").headers["Location"] == "/"
    assert client.get("/").status_code == 200
    spent = Client().post(f"/sign-in/{token}/")
    assert spent.status_code == 410
    assert "spent" in spent.content.decode()


def test_signing_out_ends_the_session() -> None:
    client = signed_in(make_user())
    client.post("/sign-out/")
    assert client.get("/").status_code == 302


def test_a_key_is_shown_once() -> None:
    client = signed_in(make_cast().owner)
    made = client.post("/keys/create/", {"name": "app", "type": "WORKSPACE_INVOKE"})
    text = re.search(r"\w{8}\.[\w-]{43}", made.content.decode())
    assert text is not None
    assert ApiKey.objects.get(name="app").secret_sha256 == sha256_hex(text[0])
    assert "no-store" in made["Cache-Control"]
    assert text[0] not in client.get("/keys/").content.decode()
    assert not any(text[0] in str(session.get_decoded()) for session in Session.objects.all())


def test_a_key_is_revoked_by_its_name_only() -> None:
    cast = make_cast()
    make_api_key(team=cast.team, name="app")
    key = ApiKey.objects.get(name="app")
    client = signed_in(cast.owner)
    client.post(f"/keys/{key.id}/revoke/", {"name": "other"})
    key.refresh_from_db()
    assert key.revoked_at is None
    client.post(f"/keys/{key.id}/revoke/", {"name": "app"})
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_an_outsider_neither_sees_nor_revokes_a_key() -> None:
    cast = make_cast()
    make_api_key(team=cast.team, name="app")
    key = ApiKey.objects.get(name="app")
    client = signed_in(cast.outsider)
    assert "app</td>" not in client.get("/keys/").content.decode()
    assert client.post(f"/keys/{key.id}/revoke/", {"name": "app"}).status_code == 404


def test_a_member_may_not_make_a_team_key() -> None:
    client = signed_in(make_cast().member)
    form = {"name": "app", "type": "WORKSPACE_MANAGE_ALL"}
    assert client.post("/keys/create/", form).status_code == 403
    assert not ApiKey.objects.exists()

"""What a hostile site or link can do to somebody who is signed in: nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts.models import SignInLink
from tests.factories import Cast, make_cast, make_user

pytestmark = pytest.mark.django_db

NOT_PAGES = ("/v1", "/internal/", "/metrics", "/sign-in/oidc")
PART = re.compile(r"<(?:(\w+):)?\w+>")
VALUES = {"int": "1"}


def page_paths() -> list[str]:
    return sorted({path for path in _paths(get_resolver().url_patterns, "/") if _is_page(path)})


def _paths(patterns: Any, before: str) -> Iterator[str]:
    for each in patterns:
        path = before + str(each.pattern).lstrip("^").rstrip("$")
        if isinstance(each, URLResolver):
            yield from _paths(each.url_patterns, path)
        elif isinstance(each, URLPattern):
            yield PART.sub(lambda part: VALUES.get(part[1], "zzzzzzzz"), path)


def _is_page(path: str) -> bool:
    return not path.startswith(NOT_PAGES) and "?" not in path


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_no_page_takes_a_post_from_another_site(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.organisation_admin)
    evil = {"origin": "https://evil.example"}
    answers = {path: client.post(path, headers=evil).status_code for path in page_paths()}
    assert answers == dict.fromkeys(page_paths(), 403)


def test_a_session_alone_changes_nothing_over_rest(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.owner)
    answer = client.post("/v1/configs", {"name": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("path", ["/", "/configs/", "/keys/", "/sign-in/", "/nothing-here/"])
def test_pages_run_our_scripts_only_and_stand_in_no_frame(cast: Cast, path: str) -> None:
    client = Client()
    client.force_login(cast.owner)
    answer = client.get(path)
    policy = dict(
        part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; ") if " " in part
    )
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    text = answer.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:", text)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "\x00//evil.example",
        "/%09//evil.example"[:4] + "\t//evil.example",
    ],
)
def test_a_link_to_sign_in_leads_nowhere_else(target: str) -> None:
    make_user(email="who@example.com", password="a-long-password")
    answer = Client().post(
        f"/sign-in/?next={'x'}",
        {"email": "who@example.com", "password": "a-long-password", "next": target},
    )
    assert answer.status_code == 302, answer.content
    assert answer["Location"] == "/" or answer["Location"].startswith("/%09")


def test_a_refused_form_does_not_lead_to_where_it_says_it_came_from(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.owner)
    answer = client.post("/keys/create/", {}, headers={"referer": "https://evil.example/x"})
    assert "evil" not in answer.headers.get("Location", "")


@pytest.mark.parametrize("way", ["password", "link"])
def test_a_session_from_before_the_sign_in_is_worth_nothing_after(way: str) -> None:
    from apps.accounts.signing_in.links import sign_in_link_create

    user = make_user(email="who@example.com", password="a-long-password")
    client = Client()
    client.get("/sign-in/")
    planted = client.session
    planted["planted"] = "yes"
    planted.save()
    client.cookies["sessionid"] = planted.session_key
    if way == "password":
        client.post("/sign-in/", {"email": user.email, "password": "a-long-password"})
    else:
        client.post(f"/sign-in/{sign_in_link_create(user=user)}/")
        assert SignInLink.objects.get().used_at is not None
    assert client.cookies["sessionid"].value != planted.session_key
    attacker = Client()
    attacker.cookies["sessionid"] = planted.session_key
    assert attacker.get("/").status_code == 302
    assert attacker.get("/v1/users/me").status_code == 401

"""What a page's own requests get when they are refused: words and marks, never another page."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from apps.configs.services.examination import LONGEST_TEXT_CHARACTERS
from tests.apps.pages import signed_in
from tests.factories import config_text, make_cast, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
OF_A_PAGE = {"HX-Request": "true", "Accept": "text/html"}
CHECK = "/configs/new/check/"
PASSWORD = "a long enough password"


def draft(**changes: str) -> dict[str, str]:
    return {"text": config_text(), "changed": "", "base": "0", "view": "form"} | changes


@pytest.mark.parametrize("accept", ["text/html", "application/json", "text/event-stream"])
def test_a_script_whose_session_has_ended_is_told_so_and_led_nowhere(accept: str) -> None:
    headers = {"Accept": accept} | ({"HX-Request": "true"} if accept == "text/html" else {})
    for answer in (
        Client().get("/configs/", headers=headers),
        Client().post(CHECK, draft(), headers=headers),
    ):
        assert answer.status_code == 401
        assert "Location" not in answer.headers
        assert "HX-Part" not in answer.headers
        assert answer.content.decode() == "Your session has ended. Sign in again."


def test_who_signs_in_after_a_form_was_refused_comes_back_to_the_page_of_the_form() -> None:
    answer = Client().post(
        "/configs/new/", draft(), headers={"Referer": "http://testserver/configs/new/?copy=a"}
    )
    assert (
        answer.headers["Location"] == "/sign-in/?next=http%3A//testserver/configs/new/%3Fcopy%3Da"
    )
    assert Client().post(CHECK, draft()).headers["Location"] == "/sign-in/?next=/"


def test_what_a_service_refuses_is_said_and_no_page_is_sent() -> None:
    browser = signed_in(make_cast().owner)
    text = "a" * (LONGEST_TEXT_CHARACTERS + 1)
    answer = browser.post(CHECK, draft(text=text), headers=OF_A_PAGE | {"Referer": "/configs/new/"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert "200\u202f000 are the most" in answer.content.decode()
    gone = browser.post("/configs/zzzzzzzz/check/", draft(), headers=OF_A_PAGE)
    assert (gone.status_code, gone.content.decode()) == (404, "There is no config `zzzzzzzz`.")


def test_parts_are_marked_and_pages_are_not() -> None:
    browser = signed_in(make_cast().owner)
    requests = [CHECK, "/configs/new/fit/", "/builds/forecast/"]
    for text in (config_text(), "no: [config"):
        for path in requests:
            assert browser.post(path, draft(text=text), headers=OF_A_PAGE)["HX-Part"] == "true"
    for path in ("/", "/configs/", "/nodes/"):
        assert browser.get(path, headers=OF_A_PAGE)["HX-Part"] == "true"
        assert "HX-Part" not in browser.get(path).headers
    for path in ("/configs/new/", "/keys/", "/sign-out/"):
        assert "HX-Part" not in browser.get(path, headers=OF_A_PAGE).headers


def test_a_lost_token_of_forms_is_named_and_can_be_renewed() -> None:
    user = make_cast().owner
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    refused = browser.post(CHECK, draft(), headers=OF_A_PAGE)
    assert (refused.status_code, refused["HX-Refusal"]) == (403, "form-token")
    assert "HX-Part" not in refused.headers
    content = browser.get("/session/").json()
    assert content["user"] == user.id
    token = {"X-CSRFToken": content["token"]}
    assert browser.post(CHECK, draft(), headers=OF_A_PAGE | token).status_code == 200


def test_nobody_is_told_nothing_but_a_token() -> None:
    answer = Client().get("/session/")
    assert set(json.loads(answer.content)) == {"user", "token", "token_cookie"}
    assert answer.json()["user"] == ""
    assert "no-store" in answer["Cache-Control"]


def test_the_dialog_signs_in_step_by_step_without_leading_away() -> None:
    make_user(email="ada@example.com", password=PASSWORD)
    browser = Client()
    form = browser.get("/sign-in/", headers=OF_A_PAGE)
    assert form["HX-Part"] == "true"
    assert re.search(r'<form method="dialog" hx-post="/sign-in/"', form.content.decode())
    wrong = _posted(browser, password="wrong")
    assert (wrong.status_code, wrong["HX-Part"]) == (401, "true")
    assert "do not match" in wrong.content.decode()
    right = _posted(browser, password=PASSWORD)
    assert (right.status_code, right["HX-Trigger"]) == (204, "signed-in")
    assert browser.get("/session/").json()["user"]


def test_the_dialog_asks_for_the_second_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.accounts.signing_in.services.has_two_steps", lambda _user: True)
    monkeypatch.setattr(
        "apps.accounts.signing_in.services.code_is_right", lambda _user, code: code == "1"
    )
    make_user(email="ada@example.com", password=PASSWORD)
    browser = Client()
    assert 'name="code"' in _posted(browser, password=PASSWORD).content.decode()
    wrong = browser.post("/sign-in/code/", {"code": "2"}, headers=OF_A_PAGE)
    assert (wrong.status_code, wrong["HX-Part"]) == (401, "true")
    right = browser.post("/sign-in/code/", {"code": "1"}, headers=OF_A_PAGE)
    assert (right.status_code, right["HX-Trigger"]) == (204, "signed-in")
    late = Client().get("/sign-in/code/", headers=OF_A_PAGE)
    assert 'name="password"' in late.content.decode()


def _posted(browser: Client, *, password: str) -> Any:
    form = {"email": "ada@example.com", "password": password}
    return browser.post("/sign-in/", form, headers=OF_A_PAGE)

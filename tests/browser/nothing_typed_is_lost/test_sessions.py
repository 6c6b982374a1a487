"""A session or a token that ends while somebody types is begun anew over the page."""

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.editor_page import editor, type_length
from tests.browser.nothing_typed_is_lost.losses import (
    PASSWORD,
    REFUSED,
    STRANGER,
    end_session,
    knows_password,
    sign_in,
)

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_a_session_that_ends_while_one_types_is_begun_anew_over_the_page(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = editor(visit, stage, allowed=REFUSED)
    end_session(page)
    type_length(page)
    sign_in(page)
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))
    expect(page.locator("#checks .finding").first).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".crumb")).to_contain_text("revision 2")
    assert "max_seq_len: 912048" in stage.small.revisions.get(number=2).text


def test_a_save_after_the_session_has_ended_is_put_off_and_sent_once_one_is_signed_in(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = editor(visit, stage, "yaml", allowed=REFUSED)
    for request in ("**/check/", "**/forecast/"):
        page.route(request, lambda route: None)
    page.locator("#text").fill(f"{stage.small.revisions.get().text}# typed\n")
    end_session(page)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Not now").click()
    expect(page.locator("#refused")).to_contain_text("You are signed out")
    page.get_by_role("button", name="Save").click()
    sign_in(page)
    expect(page.locator(".crumb")).to_contain_text("revision 2")
    assert stage.small.revisions.get(number=2).text.endswith("# typed\n")


def test_who_puts_the_sign_in_off_keeps_the_text_and_is_not_asked_at_every_letter(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = editor(visit, stage, allowed=REFUSED)
    end_session(page)
    type_length(page)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    dialog.get_by_role("button", name="Not now").click()
    notice = page.locator("#refused")
    expect(notice).to_contain_text("You are signed out")
    with page.expect_response("**/check/"):
        type_length(page, "512")
    expect(notice).to_be_visible()
    expect(dialog).to_be_hidden()
    notice.get_by_role("button", name="Sign in").click()
    sign_in(page)
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 512"))
    expect(notice).to_be_hidden()


def test_a_wrong_password_is_said_in_the_dialog(visit: OpenPage, stage: "Stage") -> None:
    knows_password(stage.owner)
    page = editor(visit, stage, allowed=REFUSED)
    end_session(page)
    type_length(page)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog.get_by_label("Password")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert").last).to_contain_text("do not match")
    dialog.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.get_by_label("Sequence length")).to_have_value("912048")


def test_who_signed_in_in_another_tab_goes_on_in_this_one(visit: OpenPage, stage: "Stage") -> None:
    page = editor(visit, stage, allowed=REFUSED)
    session = [
        each for each in page.context.cookies() if each["name"] == settings.SESSION_COOKIE_NAME
    ]
    end_session(page)
    type_length(page)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog).to_be_visible()
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(dialog).to_be_hidden()
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))


def test_somebody_else_does_not_go_on_with_what_another_typed(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.admin)
    page = editor(visit, stage, allowed=REFUSED)
    end_session(page)
    type_length(page)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("E-mail address").fill(stage.admin.email)
    dialog.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Someone else is signed in now")
    expect(dialog).to_be_visible()
    expect(page.get_by_label("Sequence length")).to_have_value("912048")


def test_a_lost_csrf_cookie_is_renewed_without_a_word(visit: OpenPage, stage: "Stage") -> None:
    page = editor(visit, stage, allowed=REFUSED)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    type_length(page)
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".crumb")).to_contain_text("revision 2")


def test_a_cookie_that_another_answer_brought_meanwhile_refuses_no_form(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = editor(visit, stage)
    # What is on its way while the cookie changes is refused, and asked for again: not of this.
    page.route("**" + reverse("builds:forecast"), lambda route: route.fulfill(status=204))
    type_length(page)
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))
    page.route(
        "**" + reverse("accounts:session"), lambda route: answered_before_another(route, page)
    )
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".crumb")).to_contain_text("revision 2")


def answered_before_another(route: Route, page: Page) -> None:
    """Give the answer, after which the cookie is one that it does not speak of."""
    answer = route.fetch()
    headers = {name: value for name, value in answer.headers.items() if name != "set-cookie"}
    another = {"name": settings.CSRF_COOKIE_NAME, "value": "x" * CSRF_SECRET_LENGTH}
    page.context.add_cookies([{**another, "url": urljoin(page.url, "/")}])
    route.fulfill(response=answer, headers=headers)


def test_a_browser_that_keeps_no_cookies_is_told_so_and_keeps_the_text(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = editor(visit, stage, allowed=REFUSED)
    refusal = {"status": 403, "headers": {"HX-Refusal": "form-token"}, "body": STRANGER}
    page.route("**/check/", lambda route: route.fulfill(**refusal))
    type_length(page)
    expect(page.locator("#refused")).to_contain_text("keeps no cookie")
    expect(page.get_by_label("Sequence length")).to_have_value("912048")


def test_a_check_that_met_a_fault_is_asked_again_by_itself(visit: OpenPage, stage: "Stage") -> None:
    page = editor(visit, stage, allowed=("status of",))
    page.route("**/check/", lambda route: route.fulfill(status=502, body=STRANGER))
    type_length(page)
    expect(page.locator("#lost")).to_be_visible()
    page.unroute("**/check/")
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))
    expect(page.locator("#lost")).to_be_hidden()


def test_signing_out_takes_neither_a_session_nor_an_old_token(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/secrets/", allowed=REFUSED)
    page.context.clear_cookies()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()

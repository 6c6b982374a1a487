"""Every form keeps what was typed, also a form that is written tomorrow.

One mechanism guards them all, in the frame of every page. A page without that frame is named here
with the reason; and every form with something to type is sent into each loss in a browser.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.urls import resolve
from playwright.sync_api import Page, Route, expect

from tests.apps.test_refused_forms import WRONG
from tests.browser.conftest import OpenPage
from tests.browser.nothing_typed_is_lost.losses import REFUSED, STRANGER, end_session
from tests.browser.screenshots import pages_of, pages_of_admins

if TYPE_CHECKING:
    from tests.browser.stage import Stage

TEMPLATES = Path(__file__).parents[3] / "templates"
FRAME = '{% extends "base.html" %}'
WITHOUT_FRAME = {
    "base.html": "the frame itself",
    "404.html": "nothing is typed: it offers to switch the team",
    "accounts/code.html": "no session has begun",
    "accounts/join.html": "no session has begun",
    "accounts/link.html": "no session has begun",
    "accounts/sign_in.html": "no session has begun",
}
ELSEWHERE = {
    "artifacts:delete": "the stage's artifact is used: ui/_confirm.html, which others have as well",
    "deployments:backpressure": "nothing is typed: a policy is chosen",
    "deployments:delete": "the stage's deployments run: ui/_confirm.html, as above",
    "remote_code:revoke": "the stage has no grant: its form stands on the page of the others",
    "accounts:confirm_two_steps": "its page exists while it is begun: the frame is the account's",
    "accounts:end_two_steps": "its page exists once it is confirmed: the frame is the account's",
}
"""Forms that the stage does not show; that they have the frame, the first test here says."""
FOR_ADMINS_TOO = ("node", "teams", "usage")
"""Pages with forms that only admins of the organisation see."""
TYPE_EVERYWHERE = """() => {
  const other = ["checkbox", "radio", "hidden", "file", "submit", "search"];
  const isTyped = (each) => each.matches("textarea, input") && !other.includes(each.type)
    && !each.readOnly && !each.disabled && !each.type.startsWith("datetime");
  const values = { number: "7", date: "2999-01-01", time: "07:00" };
  window.typedInto = [];
  window.formsTyped = [...document.querySelectorAll("form[method=post]")].filter((form) => {
    // The editor's answers come back while one types; it has tests of its own beside these.
    if (form.closest("#sign-in, #editor")) return false;
    // Who is not signed in yet has no session to lose: those pages have no guard.
    if (!document.getElementById("refused")) return false;
    // What is typed here need not be right; a renewal of the page takes the attribute away.
    form.requestSubmit = (...submitter) => {
      form.noValidate = true;
      HTMLFormElement.prototype.requestSubmit.apply(form, submitter);
    };
    const fields = [...form.elements].filter(isTyped);
    for (const each of fields) {
      each.value = values[each.type] ?? `typed ${window.typedInto.length}`;
      window.typedInto.push([each, each.value]);
    }
    return fields.length > 0;
  });
  const address = (form) => new URL(form.getAttribute("action") || location, location);
  return window.formsTyped.map((form) => address(form).pathname);
}"""
SEND = "index => window.formsTyped[index].requestSubmit()"
KEEP_COOKIES = """() => document.addEventListener("submit", () => {
  // As the form goes: a later answer may bring another.
  window.cookiesThen = document.cookie;
}, true)"""
IS_KEPT = """() => window.typedInto.every(
  ([each, value]) => each.isConnected && each.value === value
)"""


def test_every_page_with_a_form_has_the_guard_or_no_session_to_lose() -> None:
    pages = {
        str(path.relative_to(TEMPLATES)): path.read_text()
        for path in TEMPLATES.rglob("*.html")
        if not path.name.startswith("_")
    }
    unguarded = {
        name for name, text in pages.items() if 'method="post"' in text and FRAME not in text
    }
    assert len(pages) > 40
    assert unguarded == WITHOUT_FRAME.keys()


@pytest.mark.browser
@pytest.mark.long
def test_every_form_keeps_what_was_typed_without_network_server_session_or_token(
    visit: OpenPage, stage: "Stage"
) -> None:
    met = set()
    pages = pages_of(stage)
    of_admins = pages_of_admins() | {name: pages[name] for name in FOR_ADMINS_TOO}
    for user, paths in ((stage.owner, pages), (stage.admin, of_admins)):
        page = visit("/secrets/", user=user, allowed=(*REFUSED, "net::ERR", "status of"))
        page.on("dialog", lambda dialog: dialog.accept())
        session = session_of(page)
        origin = page.url.removesuffix("/secrets/")
        for path in paths.values():
            page.goto(origin + path, wait_until="load")
            for index, action in enumerate(page.evaluate(TYPE_EVERYWHERE)):
                met.add(resolve(action).view_name)
                keeps_what_was_typed(page, index)
                page.context.add_cookies(session)
    assert sorted({*WRONG} - met) == sorted(ELSEWHERE)


def session_of(page: Page) -> list[Any]:
    cookies = page.context.cookies()
    return [each for each in cookies if each["name"] == settings.SESSION_COOKIE_NAME]


def keeps_what_was_typed(page: Page, index: int) -> None:
    """Send a form into each loss, one after the other: all that was typed stays."""
    address = page.url
    for lose in (without_network, without_server, without_token, without_session):
        lose(page, index)
        assert page.url == address, lose.__name__
        assert page.evaluate(IS_KEPT), lose.__name__


def without_network(page: Page, index: int) -> None:
    page.context.set_offline(True)
    page.evaluate(SEND, index)
    expect(page.locator("#refused")).to_contain_text("Not sent")
    page.context.set_offline(False)


def without_server(page: Page, index: int) -> None:
    page.route(re.compile(r"/session/$"), lambda route: route.fulfill(status=502, body=STRANGER))
    page.evaluate("document.getElementById('refused').hidden = true")
    page.evaluate(SEND, index)
    expect(page.locator("#refused")).to_be_visible()
    page.unroute_all()


def without_token(page: Page, index: int) -> None:
    """The server is back, and the cookie of the form's token gone: it is sent with another."""
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    page.evaluate(KEEP_COOKIES)
    page.route("**/*", take_post)
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        page.evaluate(SEND, index)
    page.unroute_all()
    sent = answered.value.request.post_data or ""
    cookies = dict(each.split("=", 1) for each in page.evaluate("window.cookiesThen").split("; "))
    assert cookies[settings.CSRF_COOKIE_NAME] in sent


def take_post(route: Route) -> None:
    """Keep what is sent from the server; the browser stays where it is."""
    if route.request.method == "POST":
        return route.fulfill(status=204)
    return route.fallback()


def without_session(page: Page, index: int) -> None:
    end_session(page)
    page.evaluate(SEND, index)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    expect(page.locator("#refused")).to_contain_text("You are signed out")

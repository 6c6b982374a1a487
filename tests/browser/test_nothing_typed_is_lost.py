"""What is typed outlives a session, a token, a server that fails and a tab that is closed."""

import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from apps.secrets.models import Secret
from tests.browser.conftest import OpenPage
from tests.browser.editor_page import editor, type_length
from tests.browser.screenshots import pages_of, pages_of_admins

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.builds.models import Build
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
PASSWORD = "a long enough password"
STRANGER = "a page of somebody else"
REFUSED = ("401", "403", "404", "502")
ANSWERS: dict[str, dict[str, Any]] = {
    "a proxy's sign-in": {"status": 200},
    "a notice": {"status": 403},
    "a page that is gone": {"status": 404},
    "a fault": {"status": 502},
    "a part for elsewhere": {"status": 200, "headers": {"HX-Retarget": "body"}},
    "another page": {"status": 200, "headers": {"HX-Redirect": "/elsewhere/"}},
}
TRIGGER_ALL = """() => {
  for (const each of document.querySelectorAll("[hx-get], [hx-post]")) {
    const name = (each.getAttribute("hx-trigger") ?? "click").split(/[ ,]/)[0];
    const [method, path] = each.hasAttribute("hx-get") ? ["GET", "hx-get"] : ["POST", "hx-post"];
    if (name === "input") {
      const typed = new Event("input", { bubbles: true });
      const from = each.getAttribute("hx-trigger").match(/from:(\\S+)/);
      const form = from ? document.querySelector(from[1]) : each;
      (document.getElementById("text") ?? form).dispatchEvent(typed);
    } else if (name === "load") {
      htmx.ajax(method, each.getAttribute(path), { source: each, target: each, swap: "innerHTML" });
    } else htmx.trigger(each, name);
  }
}"""


def knows_password(user: "User") -> None:
    user.set_password(PASSWORD)
    user.save()


def end_session(page: Page) -> None:
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)


def sign_in(page: Page) -> None:
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog.get_by_label("E-mail address")).to_have_value("owner@example.com")
    expect(dialog.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()


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


def test_a_save_after_the_session_has_ended_is_sent_once_one_is_signed_in(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = editor(visit, stage, "yaml", allowed=REFUSED)
    for asked in ("**/check/", "**/forecast/"):
        page.route(asked, lambda route: None)
    page.locator("#text").fill(f"{stage.small.revisions.get().text}# typed\n")
    end_session(page)
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


def test_a_form_of_any_page_is_sent_once_one_is_signed_in_again(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = visit("/secrets/", allowed=REFUSED)
    page.get_by_label("Name").fill("wandb_key")
    page.get_by_label("Value").fill("typed")
    end_session(page)
    page.get_by_role("button", name="Store secret").click()
    sign_in(page)
    expect(page.get_by_role("link", name="wandb_key", exact=True)).to_be_visible()
    assert Secret.objects.filter(team=stage.team, name="wandb_key").exists()


def test_a_wrong_number_in_a_closed_part_of_a_form_is_shown(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(pages_of(stage)["schedules"])
    page.get_by_label("Name").fill("office hours")
    more = page.locator("#schedule details.more")
    more.locator("summary").click()
    number = more.locator("input[type=number]").first
    number.fill("-1")
    more.locator("summary").click()
    expect(number).to_be_hidden()
    page.get_by_role("button", name="Add schedule").click()
    expect(number).to_be_focused()


def test_a_form_is_not_sent_to_a_server_that_is_down(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/secrets/", allowed=("net::ERR",))
    page.get_by_label("Name").fill("wandb_key")
    page.get_by_label("Value").fill("typed")
    page.context.set_offline(True)
    page.get_by_role("button", name="Store secret").click()
    expect(page.locator("#refused")).to_contain_text("Not sent")
    expect(page.get_by_label("Value")).to_have_value("typed")


def test_a_refused_form_comes_back_as_it_was_sent_with_the_words_at_its_field(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/models/{stage.deployment.model_id}/")
    page.get_by_role("button", name="production: At once").click()
    dialog = page.get_by_role("dialog", name="How production moves")
    dialog.get_by_label("Canary: holds at").fill("10")
    dialog.get_by_text("Answer guard: both").click()
    prompts = dialog.get_by_label("Prompts for both")
    prompts.fill('{"messages": []}')
    dialog.get_by_role("button", name="Keep").click()
    expect(prompts).to_be_focused()
    expect(prompts).to_have_value('{"messages": []}')
    expect(prompts).to_have_accessible_description(re.compile("messages is missing or empty"))
    expect(dialog.get_by_label("Canary: holds at")).to_have_value("10")
    page.reload()
    expect(page.get_by_role("dialog")).to_have_count(0)


TYPE_EVERYWHERE = """() => {
  const other = ["checkbox", "radio", "hidden", "file", "submit", "search", "date", "time"];
  const isTyped = (each) => each.matches("textarea, input") && !other.includes(each.type)
    && !each.readOnly && !each.disabled && !each.type.startsWith("datetime");
  const forms = [...document.querySelectorAll("form[method=post]")];
  window.typedInto = [];
  window.formsTyped = forms.filter((form) => {
    // The editor's answers come back while one types; it has tests of its own above.
    if (form.closest("#sign-in, #editor")) return false;
    // Who is not signed in yet has no session to lose: those pages have no guard.
    if (!document.getElementById("refused")) return false;
    form.noValidate = true;
    const fields = [...form.elements].filter(isTyped);
    for (const each of fields) {
      each.value = each.type === "number" ? "7" : `typed ${window.typedInto.length}`;
      window.typedInto.push([each, each.value]);
    }
    return fields.length > 0;
  });
  return window.formsTyped.length;
}"""
SEND = "index => window.formsTyped[index].requestSubmit()"
IS_KEPT = """() => window.typedInto.every(
  ([each, value]) => each.isConnected && each.value === value
)"""


@pytest.mark.long
def test_every_form_keeps_what_was_typed_without_network_server_or_session(
    visit: OpenPage, stage: "Stage"
) -> None:
    """One mechanism guards them all: this asks it of each form that has something to type."""
    forms = 0
    for user, paths in ((stage.owner, pages_of(stage)), (stage.admin, pages_of_admins())):
        page = visit("/secrets/", user=user, allowed=(*REFUSED, "net::ERR", "status of"))
        page.on("dialog", lambda dialog: dialog.accept())
        session = [
            each for each in page.context.cookies() if each["name"] == settings.SESSION_COOKIE_NAME
        ]
        origin = page.url.removesuffix("/secrets/")
        for path in paths.values():
            page.context.add_cookies(session)  # type: ignore[arg-type]
            page.goto(origin + path, wait_until="load")
            for index in range(page.evaluate(TYPE_EVERYWHERE)):
                forms += 1
                keeps_what_was_typed(page, index)
    assert forms >= 20


def keeps_what_was_typed(page: Page, index: int) -> None:
    """Send a form into a dead network, a dead server and an ended session; all of it stays."""
    notice, address = page.locator("#refused"), page.url
    page.context.set_offline(True)
    page.evaluate(SEND, index)
    expect(notice).to_contain_text("Not sent")
    page.context.set_offline(False)
    page.route(re.compile(r"/session/$"), lambda route: route.fulfill(status=502, body=STRANGER))
    page.evaluate("document.getElementById('refused').hidden = true")
    page.evaluate(SEND, index)
    expect(notice).to_be_visible()
    page.unroute_all()
    end_session(page)
    page.evaluate(SEND, index)
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    assert page.url == address
    assert page.evaluate(IS_KEPT)


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


def test_no_answer_that_is_no_part_of_ours_comes_into_any_page(
    visit: OpenPage, stage: "Stage"
) -> None:
    asking = 0
    for user, paths in ((stage.owner, pages_of(stage)), (stage.admin, pages_of_admins())):
        page = visit("/", user=user, allowed=("status of",))
        origin = page.url.rstrip("/")
        for path in paths.values():
            page.unroute_all()
            page.goto(origin + path, wait_until="domcontentloaded")
            if page.locator("main [hx-get], main [hx-post]").count():
                asking += 1
                takes_nothing_strange(page)
    assert asking >= 12


def takes_nothing_strange(page: Page) -> None:
    """Answer all that the page puts into itself by something else; it stays as it is."""
    for answer in ANSWERS.values():
        page.route("**/*", partial(strange, answer))
        with page.expect_response(lambda told: "hx-request" in told.request.headers):
            page.evaluate(TRIGGER_ALL)
        expect(page.locator(".htmx-request")).to_have_count(0)
        expect(page.locator("h1")).not_to_have_text(STRANGER)
        assert STRANGER not in page.content()


def strange(answer: dict[str, Any], route: Route) -> None:
    if "hx-request" not in route.request.headers:
        return route.fallback()
    body = f"<html><body><main><h1>{STRANGER}</h1></main></body></html>"
    return route.fulfill(content_type="text/html", body=body, **answer)


def test_a_dialog_stays_open_with_what_was_typed_while_the_page_around_it_goes_on(
    visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    page.get_by_role("button", name="Deactivate").click()
    dialog = page.get_by_role("dialog", name="Deactivate this deployment")
    dialog.get_by_label("to confirm").fill(deployment.name)
    deployment.replicas.filter(state="ready").update(metrics={"requests_running": 1234})
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("1\u202f234")
    expect(dialog.get_by_label("to confirm")).to_have_value(deployment.name)
    dialog.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    deployment.refresh_from_db()
    assert deployment.state in ("deactivating", "inactive")


def test_the_reason_of_a_promotion_is_typed_while_the_build_around_it_is_renewed(
    visit: OpenPage, stage: "Stage"
) -> None:
    gate = {"state": "failed", "result": {"state": "failed", "kind": "generation"}, "position": 9}
    stage.failed.steps.update_or_create(name="gate", defaults=gate)
    page = visit(f"/builds/{stage.failed.number}/")
    page.get_by_role("button", name="Promote anyway").first.click()
    reason = page.get_by_label("Why is the loss acceptable?")
    reason.fill("It answers well enough.")
    rename_config_of(stage.failed)
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("renamed-meanwhile")
    expect(reason).to_have_value("It answers well enough.")
    expect(reason).to_be_focused()


def test_what_somebody_has_unfolded_stays_so_while_the_page_goes_on(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/builds/{stage.built.number}/")
    more = page.locator("[data-live] details")
    more.first.locator("summary").click()
    rename_config_of(stage.built)
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("renamed-meanwhile")
    expect(more.first).to_have_attribute("open", "")


def rename_config_of(build: "Build") -> None:
    build.revision.config.name = "renamed-meanwhile"
    build.revision.config.save()


def renew(page: Page) -> None:
    """Ask for what the server renews of the page."""
    with page.expect_response(
        lambda told: "hx-request" in told.request.headers and told.status == 200
    ):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

"""Every page before a real browser: narrow, dark, copied from, followed, and left alone."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.builds.models import Build
from apps.telemetry.logs import log_append
from controlplane.domain.lifecycle import BuildState
from tests.browser.conftest import OpenPage
from tests.browser.screenshots import pages_of

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("measured")
def test_no_page_scrolls_sideways_at_320_px_in_either_theme(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/", color_scheme="dark", viewport={"width": 320, "height": 640})
    origin = page.url.rstrip("/")
    for path in (*pages_of(stage).values(), f"/builds/?q={'w' * 80}"):
        page.goto(origin + path)
        page.wait_for_load_state("networkidle")
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{path} is {overflow} px wider than 320 px"


def test_the_theme_follows_the_system_until_it_is_switched(visit: OpenPage) -> None:
    page = visit("/", color_scheme="dark")
    surface = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(surface) == "rgb(11, 11, 13)"
    page.get_by_role("button", name="Switch theme").click()
    assert page.evaluate(surface) == "rgb(250, 250, 250)"
    page.reload()
    assert page.evaluate(surface) == "rgb(250, 250, 250)"


def test_the_menu_opens_from_the_keyboard_on_a_narrow_screen(visit: OpenPage) -> None:
    page = visit("/", viewport={"width": 320, "height": 640})
    expect(page.get_by_role("link", name="Builds", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Menu").press("Enter")
    page.get_by_role("link", name="Builds", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Builds")


def test_an_identifier_is_copied_and_it_is_said(visit: OpenPage, stage: "Stage") -> None:
    deployment = stage.deployment
    page = visit(
        f"/models/{deployment.model_id}/{deployment.id}/",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.clock.install()
    # What is said goes after a second and a half, which a busy machine may need to look.
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)
    page.get_by_role("button", name="Copy endpoint").click()
    expect(page.locator("#said")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"/m/{deployment.model_id}/environments/production/sync/v1")


@pytest.mark.usefixtures("measured")
def test_charts_are_drawn_from_counted_traffic(visit: OpenPage, stage: "Stage") -> None:
    deployment = stage.deployment
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    expect(page.locator("#chart-requests canvas")).to_be_visible()
    expect(page.locator("#chart-tokens canvas")).to_be_visible()
    moment = page.locator("#chart-tokens .u-legend .u-value").first
    latest = moment.inner_text()
    page.locator("#chart-tokens .u-over").hover()
    expect(moment).not_to_have_text(latest)


def test_what_is_shown_was_asked_and_says_where_it_was_cut(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/builds/{stage.built.number}/")
    answer = page.get_by_role("region", name="First answer")
    expect(answer).to_contain_text("Asked: Say hello in one short sentence.")
    expect(answer).to_contain_text("at its limit of 16 tokens")
    deployment = stage.deployment
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    expect(page.locator("main")).to_contain_text('"max_tokens": 64, "temperature": 0')


def test_a_running_build_is_followed_to_its_end(visit: OpenPage, stage: "Stage") -> None:
    running = stage.running
    page = visit(f"/builds/{running.number}/", timezone_id="Asia/Kolkata")
    expect(page).to_have_title(f"● fetching · build {running.number}")
    hovered = page.locator("time[datetime]").first
    expect(hovered).to_have_attribute("title", re.compile(r"GMT\+5:30$"))
    expect(page.locator("#log")).to_contain_text("resolving HuggingFaceTB")
    log_append(
        owner=f"build:{running.id}:fetch", attempt=1, sequence=1, text="ERROR the hub hung up\n"
    )
    expect(page.locator("#log mark")).to_have_text("ERROR the hub hung up\n")
    expect(page.get_by_role("button", name="Jump to first error")).to_be_visible()
    failure = {"code": "EHF-OFFLINE", "blame": "machine", "sentence": "The `hub` hung up."}
    Build.objects.filter(id=running.id).update(state=BuildState.FAILED, failure=failure)
    expect(page).to_have_title(f"✕ failed · build {running.number}")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile(r"icon-error\b"))
    expect(page.locator(".finding.error")).to_contain_text("The hub hung up.")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_dangerous_action_waits_for_the_name(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/secrets/{stage.team.secrets.get().id}/")
    page.get_by_role("button", name="Delete", exact=True).click()
    confirm = page.get_by_role("button", name="Delete secret")
    expect(confirm).to_be_disabled()
    page.get_by_label("Type hf_access_token to confirm").fill("hf_access_token")
    confirm.click()
    expect(page.get_by_role("status").first).to_contain_text("is deleted")
    expect(page.get_by_text("No secrets yet")).to_be_visible()


def test_a_poll_that_finds_nothing_new_costs_a_304(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/secrets/")
    page.goto(page.url.replace("/secrets/", "/builds/"))
    answers: list[int] = []
    page.on("response", lambda answer: answers.append(answer.status))
    with page.expect_response(lambda answer: answer.status == 304):
        page.mouse.move(10, 10)
    assert set(answers) <= {200, 304}


def test_a_server_that_is_not_ready_and_a_lost_connection_are_shown_and_heal(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/builds/", allowed=("net::ERR", "htmx", "status of 503"))
    page.route("**/builds/", lambda route: route.fulfill(status=503))
    expect(page.get_by_role("alert")).to_contain_text("The server is not ready.")
    page.unroute_all()
    page.context.set_offline(True)
    expect(page.get_by_role("alert")).to_contain_text("Connection lost")
    page.context.set_offline(False)
    expect(page.get_by_role("alert")).to_be_hidden()

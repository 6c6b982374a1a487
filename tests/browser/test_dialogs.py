"""A dialog over a page: what is beneath gets neither focus, key nor click, and nothing is lost."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_keys_and_clicks_stay_within_it_and_escape_leads_back_to_what_opened_it(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/models/{stage.deployment.model_id}/{stage.deployment.id}/")
    address = page.url
    opener = page.get_by_role("button", name="Deactivate")
    opener.press("Enter")
    dialog = page.get_by_role("dialog", name="Deactivate this deployment")
    name, keep = dialog.get_by_role("textbox"), dialog.get_by_role("button", name="Keep it")
    expect(name).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(keep).to_be_focused()
    page.keyboard.press("Tab")
    expect(name).to_be_focused()
    page.get_by_role("link", name="Builds", exact=True).first.evaluate("each => each.focus()")
    expect(name).to_be_focused()
    page.keyboard.type("depl")
    page.mouse.click(40, 200)
    page.keyboard.press("Control+k")
    expect(page.locator("#search")).to_be_hidden()
    expect(name).to_have_value("depl")
    assert page.url == address
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(name).to_have_value("depl")


def test_the_sign_in_comes_over_it_and_leaves_it_as_it_was(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/secrets/{stage.team.secrets.get().id}/", allowed=("status of 4",))
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete")
    dialog.get_by_role("textbox").fill(stage.team.secrets.get().name)
    page.context.clear_cookies()
    dialog.get_by_role("button", name="Delete").click()
    over = page.get_by_role("dialog", name="Sign in to continue")
    expect(over.get_by_label("Password")).to_be_focused()
    page.keyboard.press("Escape")
    expect(over).to_be_hidden()
    expect(dialog.get_by_role("textbox")).to_have_value("hf_access_token")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

"""The search over any page, by keyboard alone."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_a_key_opens_it_arrows_choose_and_enter_goes_there(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/builds/")
    page.keyboard.press("Control+k")
    box, options = page.locator("#search input"), page.locator("#search-hits [role=option]")
    expect(box).to_be_focused()
    expect(options.first).to_have_attribute("aria-selected", "true")
    box.fill(stage.blocked.name)
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/configs/{stage.blocked.id}/**")
    page.keyboard.press("Control+k")
    box.fill("no such thing")
    expect(page.get_by_text("Nothing is called")).to_be_visible()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()


def test_the_page_beneath_gets_neither_focus_nor_click_until_it_is_closed(visit: OpenPage) -> None:
    page = visit("/builds/")
    opener, box = page.get_by_role("link", name="Search"), page.locator("#search input")
    opener.press("Enter")
    expect(box).to_be_focused()
    for key in ("Tab", "Shift+Tab"):
        page.keyboard.press(key)
        expect(box).to_be_focused()
    page.locator("#search .seeking").click(position={"x": 2, "y": 2})
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(box).to_be_visible()
    place = page.get_by_role("link", name="Configs").bounding_box()
    assert place
    page.mouse.click(place["x"] + 5, place["y"] + 5)
    expect(box).to_be_hidden()
    expect(page).to_have_url(page.url)
    assert page.url.endswith("/builds/")

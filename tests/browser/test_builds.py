"""Builds in a real browser: told in the editor before they start, and two of them compared."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_the_editor_tells_what_the_build_takes_and_again_after_a_change(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.small.id}/")
    forecast = page.locator("#forecast")
    expect(forecast).to_contain_text("Estimated cost")
    expect(forecast).not_to_contain_text("Calibrate")
    page.get_by_label("Quantization").select_option("fp8")
    expect(forecast).to_contain_text("Calibrate")
    expect(page.locator("#checks")).to_be_visible()


def test_two_builds_marked_in_the_list_are_compared_and_the_address_says_which(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/builds/")
    for build in (stage.built, stage.failed):
        page.get_by_label(f"Choose build {build.number} to compare").check()
    page.get_by_role("button", name="Compare").click()
    numbers = sorted((stage.built.number, stage.failed.number))
    expect(page).to_have_url(re.compile(r"/builds/compare/\?build=\d+&build=\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"Builds {numbers[0]} and {numbers[1]}"
    )
    page.wait_for_load_state()  # its styles too
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

"""A set is uploaded, refused, looked at and previewed in a real browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from apps.configs.calibration_sets.models import CalibrationPreview
from controlplane import clock
from tests.apps.configs.calibration_sets.test_views import RESULT
from tests.apps.configs.calibration_sets.uploads import chats, jsonl
from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def artifact_url(settings: Settings, tmp_path: Path) -> None:
    settings.ARTIFACT_URL = (tmp_path / "artifacts").as_uri()


def choose(page: Page, content: bytes) -> None:
    page.get_by_label("File").set_input_files(
        files=[{"name": "chats.jsonl", "mimeType": "text/plain", "buffer": content}]
    )


def assert_fits(page: Page) -> None:
    page.wait_for_load_state()  # its styles too
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url


def test_a_damaged_file_is_refused_at_its_line_and_the_next_one_is_kept_and_previewed(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/calibration-sets/", allowed=("400",), viewport={"width": 320, "height": 640})
    page.get_by_label("Name").fill("chats")
    choose(page, jsonl(12) + b"\xff\n")
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Line 13 is not UTF-8")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("chats")
    assert_fits(page)
    choose(page, chats(20))
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("is kept as version 1")).to_be_visible()
    assert_fits(page)
    page.get_by_role("button", name="Preview five samples").click()
    expect(page.get_by_text("Waiting for a build worker")).to_be_visible()
    CalibrationPreview.objects.update(state="finished", result=RESULT, finished_at=clock.now())
    expect(page.get_by_text("Row 2, 64 tokens, cut off at 64")).to_be_visible()
    expect(page).to_have_title("✓ finished · team/chats as gemma-3-27b")
    assert_fits(page)


def test_a_file_past_the_limit_is_told_before_it_is_sent(
    visit: OpenPage, settings: Settings
) -> None:
    settings.CALIBRATION_MAX_BYTES = 1_000
    page = visit("/calibration-sets/")
    choose(page, jsonl(40))
    assert not page.evaluate("document.querySelector('[type=file]').checkValidity()")
    choose(page, jsonl(2))
    assert page.evaluate("document.querySelector('[type=file]').checkValidity()")


def test_a_set_goes_only_when_its_name_is_typed(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/calibration-sets/")
    page.get_by_role("link", name="team/support-chats").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("support-chats"))
    page.wait_for_load_state()  # its scripts too
    page.get_by_role("button", name="Delete", exact=True).click()
    delete = page.get_by_role("button", name="Delete set")
    expect(delete).to_be_disabled()
    page.get_by_label("Type support-chats to confirm").fill("support-chats")
    delete.click()
    expect(page.get_by_text("team/support-chats is deleted.")).to_be_visible()

"""A failing build in a real Chromium: read, fixed with one press, and followed both ways."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from apps.builds.models import Build
from controlplane import clock
from controlplane.domain.lifecycle import BuildState
from tests import factories
from tests.browser.conftest import OpenPage
from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
LOOK_AT = os.environ.get("LOOK_AT_DIR")
FIXABLE = {
    "code": "EHB-ALLOCATION",
    "blame": "machine",
    "sentence": "Step `calibrate` asked for 4000000000 bytes of memory at once, which this machine "
    "does not have.",
    "field": "trt_llm.build.max_batch_size",
    "hint": "Build on a machine with more memory, or take less at once.",
    "fix": {"trt_llm.build.max_batch_size": 4},
    "detail": "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    "4000000000 bytes. Error code 12 (Cannot allocate memory)",
}
UNKNOWN = {
    "code": "EHB-CRASHED",
    "blame": "ours",
    "sentence": "Step `package` ended with status 3, and what it printed is no failure that is "
    "known here.",
    "field": None,
    "hint": "The last lines of its log are below. Retry; if it persists, download the support "
    "bundle and report it.",
    "fix": None,
    "detail": "writing manifest\nsomething nobody has seen before",
}


def failing(stage: Stage, failure: dict[str, object]) -> Build:
    build: Build = factories.make_build(
        revision=stage.small.revisions.get(),
        created_by=stage.owner,
        state=BuildState.FAILED,
        failure=failure,
        started_at=clock.now(),
        finished_at=clock.now(),
    )
    return build


def look(page: Page, name: str) -> None:
    if LOOK_AT:
        Path(LOOK_AT).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{LOOK_AT}/{name}.png", full_page=True)


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 320)], ids=["wide", "narrow"]
)
def test_a_failure_is_read_fixed_with_one_press_and_followed_both_ways(
    visit: OpenPage, stage: Stage, scheme: str, width: int
) -> None:
    failed = failing(stage, FIXABLE)
    page = visit(
        f"/builds/{failed.number}/",
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
    )
    expect(page.locator(".difference del")).to_have_text("-     max_batch_size: 8")
    expect(page.locator(".difference ins")).to_have_text("+     max_batch_size: 4")
    look(page, f"fixable-{scheme}-{width}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Set max_batch_size to 4 and retry").click()
    expect(page.get_by_role("heading", name="Made with a fix")).to_be_visible()
    made = Build.objects.get(after=failed)
    expect(page.get_by_role("heading", name=f"Build {made.number}")).to_be_visible()
    expect(page.locator(".difference ins")).to_have_text("+     max_batch_size: 4")
    look(page, f"made-{scheme}-{width}")
    page.get_by_role("link", name=f"build {failed.number}", exact=True).click()
    expect(page.get_by_role("link", name=f"Build {made.number} has it")).to_be_visible()
    look(page, f"followed-{scheme}-{width}")


def test_an_unknown_failure_offers_its_last_lines_and_a_bundle_to_send(
    visit: OpenPage, stage: Stage
) -> None:
    failed = failing(stage, UNKNOWN)
    for scheme, width in (("dark", 1280), ("light", 320)):
        page = visit(
            f"/builds/{failed.number}/",
            color_scheme=scheme,
            viewport={"width": width, "height": 800},
        )
        look(page, f"unknown-{scheme}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(page.get_by_text("something nobody has seen before")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download support bundle").click()
    assert download.value.suggested_filename == (
        f"enginehouse-build-{failed.number}-{failed.id}.zip"
    )

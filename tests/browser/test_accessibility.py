"""axe-core finds nothing serious on any page, light or dark; `test_every_width.py`: in both."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from apps.accounts.models import Authenticator
from tests.browser.conftest import OpenPage
from tests.browser.screenshots import pages_of, pages_of_admins

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"
SERIOUS = ("serious", "critical")
THEMES = ("light", "dark")
WIDTHS = (1440, 1024, 720, 390)
"""Those of `make test-long`; `make test` looks at 320 px, where least fits."""
CONTRAST_ONLY = {"runOnly": ["color-contrast"]}
"""All that a theme changes."""


@pytest.mark.usefixtures("measured")
def test_no_page_has_a_serious_violation_in_one_theme_or_the_other(
    visit: OpenPage, stage: "Stage"
) -> None:
    paths = pages_of(stage)
    page = visit(paths.pop("overview"), color_scheme="light")
    origin = page.url.rstrip("/")
    outcome = violations(page, "overview")
    for number, (name, path) in enumerate(paths.items()):
        page.goto(origin + path)
        outcome += violations(page, name, _in_turn(number))
    for number, (name, path) in enumerate(pages_of_admins().items()):
        page = visit(path, user=stage.admin, color_scheme="light")
        outcome += violations(page, name, _in_turn(number))
    assert outcome == []


def _in_turn(number: int) -> tuple[str, ...]:
    return (THEMES[number % len(THEMES)],)


def test_the_second_step_of_a_sign_in_has_no_serious_violation_and_fits_320_px(
    visit: OpenPage, stage: "Stage"
) -> None:
    stage.owner.set_password(PASSWORD)
    stage.owner.save()
    Authenticator.objects.create(user=stage.owner)
    page = visit("/sign-in/", allowed=("status of 4",), viewport={"width": 320, "height": 640})
    page.get_by_label("E-mail address").fill(stage.owner.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Two-factor authentication")
    outcome = violations(page, "code")
    page.get_by_label("Code of your authenticator app").fill("never")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("code")
    assert outcome + violations(page, "code refused") == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_sign_in_over_a_page_and_offered_drafts_have_none_and_fit_320_px(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(
        f"/configs/{stage.small.id}/",
        allowed=("status of 4",),
        viewport={"width": 320, "height": 640},
    )
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Sequence length").fill("512")
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 512"))
    page.reload()
    expect(page.get_by_role("region", name="Drafts")).to_be_visible()
    outcome = violations(page, "drafts")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog.get_by_label("Password")).to_be_focused()
    assert outcome + violations(page, "sign-in over the page") == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def violations(page: Page, name: str, themes: Sequence[str] = THEMES) -> list[str]:
    """Return what axe-core calls serious, each with its page, theme and first place."""
    page.wait_for_load_state()  # its styles too
    first, *others = themes
    # Without motion: a colour on its way to another one is none of the page's.
    page.emulate_media(color_scheme=first, reduced_motion="reduce")
    all_of_it = Axe().run(page).response
    assert len(all_of_it["passes"]) > 5, f"axe-core did not look at {name}"
    outcome = _serious(all_of_it, f"{name}, {first}")
    for theme in others:
        page.emulate_media(color_scheme=theme)
        outcome += _serious(Axe().run(page, options=CONTRAST_ONLY).response, f"{name}, {theme}")
    return outcome


def _serious(response: dict[str, Any], where: str) -> list[str]:
    return [
        f"{where}: {each['id']}: {each['nodes'][0]['html'][:160]}"
        for each in response["violations"]
        if each["impact"] in SERIOUS
    ]

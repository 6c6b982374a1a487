"""Every page at every width, in both themes: lived in, empty, full and broken. Minutes each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page

from apps.accounts.models import TeamRole
from benchmarks.many_rows import Amounts, fill
from benchmarks.pages import pages_of as lists_of
from tests.browser.conftest import OpenPage
from tests.browser.screenshots import EMPTY, falls_silent, pages_of, pages_of_admins
from tests.browser.test_accessibility import THEMES, WIDTHS, violations
from tests.factories import make_user

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.parametrize("width", WIDTHS),
]
MANY = Amounts(configs=1000, builds=5000, deployments=800, others=50, minutes=2)
"""200 models, and 50 nodes."""
NO_PAGES = ("/v1/", "/builds/1/log/")
OF_WHAT_SERVES = ("overview", "alerts", "models", "model", "deployment", "try", "nodes", "node")


@pytest.mark.usefixtures("measured")
def test_what_is_lived_in_fits_and_has_no_serious_violation(
    visit: OpenPage, stage: "Stage", width: int
) -> None:
    assert faults(visit("/"), pages_of(stage), width) == []
    assert faults(visit("/", user=stage.admin), pages_of_admins(), width) == []


def test_what_is_empty_fits_and_has_no_serious_violation(visit: OpenPage, width: int) -> None:
    paths = EMPTY | {
        name: f"/{name}/"
        for name in ("secrets", "keys", "usage", "alerts", "artifacts", "benchmarks", "nodes")
    }
    assert faults(visit("/", user=make_user()), paths, width) == []


def test_what_is_full_fits_and_has_no_serious_violation(visit: OpenPage, width: int) -> None:
    admin = make_user(is_admin=True, role=TeamRole.ADMIN)
    assert MANY.models == 200
    paths = lists_of(fill(admin.team, admin, MANY))
    pages = {name: path for name, path in paths.items() if not path.startswith(NO_PAGES)}
    assert faults(visit("/", user=admin), pages, width) == []


@pytest.mark.usefixtures("measured")
def test_what_is_broken_fits_and_has_no_serious_violation(
    visit: OpenPage, stage: "Stage", width: int
) -> None:
    falls_silent()
    every = pages_of(stage)
    assert faults(visit("/"), {name: every[name] for name in OF_WHAT_SERVES}, width) == []


def faults(page: Page, paths: Mapping[str, str], width: int) -> list[str]:
    """Return what axe-core calls serious and what is wider than the window, on each of them."""
    outcome, origin = [], page.url.rstrip("/")
    page.set_viewport_size({"width": width, "height": 900})
    # Colours hang on no width: both themes at the first, and by turns after that.
    turn = WIDTHS.index(width)
    themes = THEMES if turn == 0 else THEMES[turn % 2 :][:1]
    for name, path in paths.items():
        answer = page.goto(origin + path)
        assert answer, path
        assert answer.status == 200, path
        outcome += violations(page, f"{name}, {width} px", themes)
        if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            outcome.append(f"{name}: {over} px wider than {width} px")
    return outcome

"""The editor of a config as tests open it, and what they do there."""

import json
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage


def editor(visit: OpenPage, stage: "Stage", view: str = "form", **options: Any) -> Page:
    """Open the editor and wait for its last part: a dialog that opens later takes the keys."""
    page = visit(f"/configs/{stage.small.id}/?view={view}", **options)
    expect(page.locator("#forecast")).to_contain_text("Host memory")
    return page


def type_length(page: Page, tokens: str = "912048") -> None:
    page.get_by_label("Sequence length").fill(tokens)


def drafts(page: Page) -> list[Any]:
    kept = page.evaluate(
        "Object.entries(localStorage).filter(([name]) => name.startsWith('draft:'))"
    )
    return [json.loads(value) for _, value in kept]

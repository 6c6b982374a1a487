"""A person at a page: presses by mouse or by keys alone, counted."""

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 200


class Hand:
    """Presses by mouse or by keys alone, and counts."""

    def __init__(self, page: Page, *, by_keys: bool) -> None:
        self.page, self.by_keys, self.presses = page, by_keys, 0

    def press(self, target: Locator) -> None:
        expect(target).to_be_enabled()
        self.presses += 1
        if not self.by_keys:
            return target.click()
        self.reach(target)
        return self.page.keyboard.press("Enter")

    def reach(self, target: Locator) -> None:
        """Put the focus there: with keys by Tab alone."""
        if not self.by_keys:
            return target.focus()
        for _ in range(MOST_TABS):
            if target.evaluate("each => each === document.activeElement"):
                return None
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never reached {target}")

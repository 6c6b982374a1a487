"""Sessions that end while somebody types, and what stands on pages of somebody else."""

from typing import TYPE_CHECKING

from django.conf import settings
from playwright.sync_api import Page, expect

if TYPE_CHECKING:
    from apps.accounts.models import User

PASSWORD = "a long enough password"
STRANGER = "a page of somebody else"
REFUSED = ("401", "403", "404", "502")


def knows_password(user: "User") -> None:
    user.set_password(PASSWORD)
    user.save()


def end_session(page: Page) -> None:
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)


def sign_in(page: Page) -> None:
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog.get_by_label("E-mail address")).to_have_value("owner@example.com")
    expect(dialog.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()

"""From the sign-in to a second endpoint of one's own: few clicks and one paste, or keys alone."""

from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from apps.builds.models import Build
from apps.deployments.models import Deployment
from tests import factories
from tests.browser.conftest import OpenPage
from tests.browser.hand import Hand

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
MOST_CLICKS = 12
PASSWORD = "a long enough password"


@pytest.mark.parametrize("by_keys", [False, True], ids=["mouse", "keys"])
def test_a_second_endpoint_takes_few_clicks_and_one_paste(
    visit: OpenPage, stage: "Stage", by_keys: bool
) -> None:
    stage.owner.set_password(PASSWORD)
    stage.owner.save()
    page = visit("/sign-in/")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.goto(page.url)
    hand = Hand(page, by_keys=by_keys)
    hand.reach(page.get_by_label("E-mail address"))
    page.keyboard.type(stage.owner.email)
    hand.reach(page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    hand.press(page.get_by_role("button", name="Sign in", exact=True))
    hand.press(page.get_by_role("link", name="New config"))
    hand.reach(page.get_by_label("Paste it here"))
    text = stage.small.revisions.get().text.replace("smollm2", "second")
    page.keyboard.insert_text(text)
    hand.press(page.get_by_role("button", name="Read it"))
    expect(page.locator("#checks")).to_contain_text("can build")
    hand.press(page.get_by_role("button", name="Start build"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Build")
    finished(page)
    hand.press(page.get_by_role("link", name="Deploy", exact=True))
    expect(page.get_by_role("button", name="Deploy")).to_be_visible()
    hand.press(page.get_by_role("button", name="Deploy"))
    expect(page.get_by_text("/sync/v1").first).to_be_visible()
    made = Deployment.objects.get(id=page.url.rstrip("/").rpartition("/")[2])
    expect(page.locator("main")).to_contain_text(f"/m/{made.model_id}/deployment/{made.id}/sync/v1")
    assert made.model_id != stage.deployment.model_id
    assert hand.presses <= MOST_CLICKS


def finished(page: Page) -> None:
    """Let the build of this page have succeeded, as a worker would leave it."""
    build = Build.objects.order_by("-number")[0]
    artifact = factories.make_artifact(team=build.team)
    Build.objects.filter(id=build.id).update(state="succeeded", artifact=artifact)
    page.reload()

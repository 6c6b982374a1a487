"""What is typed into a form outlives a refusal, a server that is down, and a page that goes on."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from apps.secrets.models import Secret
from tests.browser.conftest import OpenPage
from tests.browser.nothing_typed_is_lost.losses import (
    REFUSED,
    end_session,
    knows_password,
    sign_in,
)
from tests.browser.screenshots import pages_of

if TYPE_CHECKING:
    from apps.builds.models import Build
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_a_form_of_any_page_is_sent_once_one_is_signed_in_again(
    visit: OpenPage, stage: "Stage"
) -> None:
    knows_password(stage.owner)
    page = visit("/secrets/", allowed=REFUSED)
    page.get_by_label("Name").fill("wandb_key")
    page.get_by_label("Value").fill("typed")
    end_session(page)
    page.get_by_role("button", name="Store secret").click()
    sign_in(page)
    expect(page.get_by_role("link", name="wandb_key", exact=True)).to_be_visible()
    assert Secret.objects.filter(team=stage.team, name="wandb_key").exists()


def test_a_wrong_number_in_a_closed_part_of_a_form_is_shown(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(pages_of(stage)["schedules"])
    page.get_by_label("Name").fill("office hours")
    more = page.locator("#schedule details.more")
    more.locator("summary").click()
    number = more.locator("input[type=number]").first
    number.fill("-1")
    more.locator("summary").click()
    expect(number).to_be_hidden()
    page.get_by_role("button", name="Add schedule").click()
    expect(number).to_be_focused()


def test_a_form_is_not_sent_to_a_server_that_is_down(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/secrets/", allowed=("net::ERR",))
    page.get_by_label("Name").fill("wandb_key")
    page.get_by_label("Value").fill("typed")
    page.context.set_offline(True)
    page.get_by_role("button", name="Store secret").click()
    expect(page.locator("#refused")).to_contain_text("Not sent")
    expect(page.get_by_label("Value")).to_have_value("typed")


def test_a_refused_form_comes_back_as_it_was_sent_with_the_words_at_its_field(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/models/{stage.deployment.model_id}/")
    page.get_by_role("button", name="production: At once").click()
    dialog = page.get_by_role("dialog", name="How production moves")
    dialog.get_by_label("Canary: holds at").fill("10")
    dialog.get_by_text("Answer guard: both").click()
    prompts = dialog.get_by_label("Prompts for both")
    prompts.fill('{"messages": []}')
    dialog.get_by_role("button", name="Keep").click()
    expect(prompts).to_be_focused()
    expect(prompts).to_have_value('{"messages": []}')
    expect(prompts).to_have_accessible_description(re.compile("messages is missing or empty"))
    expect(dialog.get_by_label("Canary: holds at")).to_have_value("10")
    page.reload()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_dialog_stays_open_with_what_was_typed_while_the_page_around_it_goes_on(
    visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    page.get_by_role("button", name="Deactivate").click()
    dialog = page.get_by_role("dialog", name="Deactivate this deployment")
    dialog.get_by_label("to confirm").fill(deployment.name)
    deployment.replicas.filter(state="ready").update(metrics={"requests_running": 1234})
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("1\u202f234")
    expect(dialog.get_by_label("to confirm")).to_have_value(deployment.name)
    dialog.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    deployment.refresh_from_db()
    assert deployment.state in ("deactivating", "inactive")


def test_the_reason_of_a_promotion_is_typed_while_the_build_around_it_is_renewed(
    visit: OpenPage, stage: "Stage"
) -> None:
    gate = {"state": "failed", "result": {"state": "failed", "kind": "generation"}, "position": 9}
    stage.failed.steps.update_or_create(name="gate", defaults=gate)
    page = visit(f"/builds/{stage.failed.number}/")
    page.get_by_role("button", name="Promote anyway").first.click()
    reason = page.get_by_label("Why is the loss acceptable?")
    reason.fill("It answers well enough.")
    rename_config_of(stage.failed)
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("renamed-meanwhile")
    expect(reason).to_have_value("It answers well enough.")
    expect(reason).to_be_focused()


def test_what_somebody_has_unfolded_stays_so_while_the_page_goes_on(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/builds/{stage.built.number}/")
    more = page.locator("[data-live] details")
    more.first.locator("summary").click()
    rename_config_of(stage.built)
    renew(page)
    expect(page.locator("[data-live]")).to_contain_text("renamed-meanwhile")
    expect(more.first).to_have_attribute("open", "")


def rename_config_of(build: "Build") -> None:
    build.revision.config.name = "renamed-meanwhile"
    build.revision.config.save()


def renew(page: Page) -> None:
    """Ask for what the server renews of the page."""
    with page.expect_response(
        lambda told: "hx-request" in told.request.headers and told.status == 200
    ):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

"""The charts of a deployment: drawn from what was measured, or saying when there will be some."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.deployments.models import Replica
from apps.telemetry.models import EngineSample
from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_each_chart_is_in_its_unit_and_one_without_a_value_says_when_there_is_one(
    visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    EngineSample.objects.filter(deployment_id=deployment.id).update(
        values={"draft_tokens_total": 3.0, "accepted_draft_tokens_total": 2.0}
    )
    Replica.objects.filter(deployment=deployment).update(metrics={"draft_tokens_total": 3.0})
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    expect(page.locator("#chart-first-token canvas")).to_be_visible()
    expect(page.locator("#chart-kv-used")).to_have_text(
        "Data comes a minute after the engine first reports it."
    )
    expect(page.locator("#chart-accepted")).to_have_text(
        "Data comes a minute after the first guess."
    )
    page.locator("#chart-first-token .u-over").hover()
    legend = page.locator("#chart-first-token .u-legend")
    expect(legend).to_contain_text("p90")
    expect(legend).to_contain_text("\u2009ms")


def test_what_engines_say_of_themselves_is_drawn(visit: OpenPage, stage: "Stage") -> None:
    deployment = stage.deployment
    Replica.objects.filter(deployment=deployment).update(metrics={"draft_tokens_total": 3.0})
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    for name in ("kv-used", "accepted"):
        expect(page.locator(f"#chart-{name} canvas")).to_be_visible()
    page.locator("#chart-kv-used .u-over").hover()
    expect(page.locator("#chart-kv-used .u-legend")).to_contain_text("\u2009%")

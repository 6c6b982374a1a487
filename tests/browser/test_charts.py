"""The charts of a deployment: drawn from what was measured, or saying when there will be some."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.deployments.models import Deployment, Replica
from apps.telemetry.models import SeriesBucket, SeriesLabels
from apps.telemetry.series.names import Source
from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("measured")
def test_each_chart_is_in_its_unit_and_one_without_a_value_says_when_there_is_one(
    visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    of_engines = SeriesLabels.objects.filter(source=Source.ENGINE).values("id")
    SeriesBucket.objects.filter(labels_id__in=of_engines).delete()
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
    expect(legend).to_contain_text("\u202fms")


@pytest.mark.usefixtures("measured")
def test_charts_say_their_range_source_and_gaps_and_another_range_stays_while_the_page_is_renewed(
    visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    Replica.objects.filter(deployment=deployment).update(metrics={"draft_tokens_total": 3.0})
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/")
    for name in ("kv-used", "accepted"):
        expect(page.locator(f"#chart-{name} canvas")).to_be_visible()
    page.locator("#chart-kv-used .u-over").hover()
    expect(page.locator("#chart-kv-used .u-legend")).to_contain_text("\u202f%")
    expect(page.locator("[data-measured]")).to_contain_text("last hour, by 10 s, updated")
    expect(page.locator("#events")).to_contain_text("Node workbench restarted.")
    expect(page.locator("[data-headline=requests_total]")).to_contain_text("in all")
    tokens = page.locator("#chart-first-token")
    report = re.compile(r"^Time to first token, last hour, by 10 s\. p50: latest .*ms, highest .* "
                      r"points without a value\. p90: ")  # fmt: skip
    expect(tokens).to_have_attribute("aria-label", report)
    page.get_by_role("group", name="Range of the charts").get_by_text("7 days").click()
    expect(page.locator("[data-headline=basis]")).to_contain_text("last 7 days")
    expect(tokens).to_have_attribute(
        "aria-label", re.compile(r"^Time to first token, last 7 days, by 1 h\.")
    )
    Deployment.objects.filter(id=deployment.id).update(state="unhealthy")
    expect(page.locator("[data-live]")).to_contain_text("unhealthy")
    expect(page.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")
    expect(tokens).to_have_attribute("aria-label", re.compile("last 7 days"))
    expect(tokens.locator("canvas")).to_be_visible()

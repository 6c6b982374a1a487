"""What the one on call needs, by clicks: a cause in two, the way back in two, a line in four."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from apps.deployments.models import Deployment, Environment
from apps.telemetry.logs import log_append
from controlplane import clock
from tests.browser.conftest import OpenPage
from tests.factories import make_deployment, make_replica

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
IN_PRODUCTION = "main tr:has-text('deployment-3')"
"""Its row on the overview."""
CAUSE = "The kernel killed the engine: out of memory."


class Clicks:
    """Clicks on what is found by its role and name, counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def on(self, role: str, name: str, within: str = "main") -> None:
        """Click the first of that role and name."""
        place = self.page.locator(within)
        place.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]
        self.count += 1


def killed(deployment: Deployment) -> None:
    failure = {"code": "EHD-KILLED", "blame": "machine", "sentence": CAUSE, "hint": "Use less."}
    Deployment.objects.filter(id=deployment.id).update(
        state="unhealthy", failure=failure, last_failure=failure
    )
    deployment.replicas.filter(state="ready").update(
        state="failed", failure=failure, finished_at=clock.now()
    )


def test_cause_line_and_way_back_take_no_more_clicks_than_promised(
    visit: OpenPage, stage: "Stage"
) -> None:
    before = stage.deployment
    bad = make_deployment(model=before.model, build=stage.built, name="deployment-3")
    replica = make_replica(deployment=bad, node=before.replicas.all()[0].node)
    Environment.objects.filter(model=before.model, name="production").update(current=bad)
    text = "INFO loaded\nERROR CUDA out of memory\nINFO after it\n"
    log_append(owner=replica.log_owner, attempt=1, sequence=0, text=text)
    killed(bad)

    page = visit("/")
    clicks = Clicks(page)
    clicks.on("link", "smollm2", IN_PRODUCTION)
    expect(page.locator("main")).to_contain_text(CAUSE)
    assert clicks.count <= 2

    clicks = Clicks(page)
    page.goto(page.url.partition("/models")[0])
    clicks.on("link", "smollm2", IN_PRODUCTION)
    clicks.on("link", "Log")
    clicks.on("searchbox", "Search the log")
    page.keyboard.type("cuda OUT")
    expect(page.locator("#log")).to_have_text(f"— {replica.id}\nERROR CUDA out of memory\n")
    expect(page.get_by_role("link", name="Download")).to_have_attribute(
        "href", f"/models/{bad.model_id}/{bad.id}/log/file/?q=cuda+OUT"
    )
    assert clicks.count <= 4

    clicks = Clicks(page)
    page.goto(page.url.partition("/models")[0])
    clicks.on("link", "smollm2", IN_PRODUCTION)
    back = page.get_by_role("button", name="Roll back to deployment-1")
    back.focus()
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("deployment-1")
    expect(page.locator("main")).to_contain_text("production is back at deployment-1.")
    expect(page.locator("main")).to_contain_text("production rolled back from deployment-3")
    assert clicks.count + 1 <= 2

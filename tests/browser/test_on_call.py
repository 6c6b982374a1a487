"""What the one on call needs: a cause in two presses, the way back in two, a line in four."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.deployments.models import Deployment, Environment
from apps.telemetry.logs import log_append
from controlplane import clock
from tests.browser.conftest import OpenPage
from tests.browser.hand import Hand
from tests.factories import make_deployment, make_replica

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
IN_PRODUCTION = "main tr:has-text('deployment-3')"
"""Its row on the overview."""
CAUSE = "The kernel killed the engine: out of memory."


def killed(deployment: Deployment) -> None:
    failure = {"code": "EHD-KILLED", "blame": "machine", "sentence": CAUSE, "hint": "Use less."}
    Deployment.objects.filter(id=deployment.id).update(
        state="unhealthy", failure=failure, last_failure=failure
    )
    deployment.replicas.filter(state="ready").update(
        state="failed", failure=failure, finished_at=clock.now()
    )


@pytest.mark.parametrize(
    "by_keys", [pytest.param(False, marks=pytest.mark.long), True], ids=["mouse", "keys"]
)
def test_cause_line_and_way_back_take_no_more_clicks_than_promised(
    visit: OpenPage, stage: "Stage", by_keys: bool
) -> None:
    before = stage.deployment
    bad = make_deployment(model=before.model, build=stage.built, name="deployment-3")
    replica = make_replica(deployment=bad, node=before.replicas.all()[0].node)
    Environment.objects.filter(model=before.model, name="production").update(current=bad)
    text = "INFO loaded\nERROR CUDA out of memory\nINFO after it\n"
    log_append(owner=replica.log_owner, attempt=1, sequence=0, text=text)
    killed(bad)

    page = visit("/")
    row = page.locator(IN_PRODUCTION)
    main = page.locator("main")

    hand = Hand(page, by_keys=by_keys)
    hand.press(row.get_by_role("link", name="smollm2"))
    expect(main).to_contain_text(CAUSE)
    assert hand.presses <= 2

    hand = Hand(page, by_keys=by_keys)
    page.goto(page.url.partition("/models")[0])
    hand.press(row.get_by_role("link", name="smollm2"))
    hand.press(main.get_by_role("link", name="Log").first)
    hand.press(main.get_by_role("searchbox", name="Search the log"))
    page.keyboard.type("cuda OUT")
    expect(page.locator("#log")).to_have_text(f"— {replica.id}\nERROR CUDA out of memory\n")
    expect(page.get_by_role("link", name="Download")).to_have_attribute(
        "href", f"/models/{bad.model_id}/{bad.id}/log/file/?q=cuda+OUT"
    )
    assert hand.presses <= 4

    hand = Hand(page, by_keys=by_keys)
    page.goto(page.url.partition("/models")[0])
    hand.press(row.get_by_role("link", name="smollm2"))
    hand.press(page.get_by_role("button", name="Roll back to deployment-1"))
    expect(page.locator("main h1")).to_have_text("deployment-1")
    expect(main).to_contain_text("production is back at deployment-1.")
    expect(main).to_contain_text("production rolled back from deployment-3")
    assert hand.presses <= 2

"""What a degraded deployment, failed starts and a promotion that waits look like."""

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.deployments.models import Deployment, Environment, FailedStarts, Replica
from apps.fleet.models import Node
from controlplane import clock
from tests import factories
from tests.browser.conftest import OpenPage
from tests.browser.stage import Stage
from tests.browser.test_accessibility import WIDTHS, violations

pytestmark = pytest.mark.browser

LONG_NAME = "gpu-host-with-a-long-name-17.rack-4.example.com"
BROKEN = {
    "code": "EHN-NEVER-READY",
    "blame": "machine",
    "sentence": "The engine did not become ready in 10 minutes.",
}
WAITS = "1 of 3 needed replicas is ready; needed: as many as carry the traffic of `production` now."


@pytest.fixture
def pages(stage: Stage) -> dict[str, str]:
    """The pages of a stage on which a host is bad and a promotion waits, by name."""
    deployment = stage.deployment
    bad = factories.make_node(name=LONG_NAME)
    _remember(deployment, bad)
    Replica.objects.filter(state="ready").update(
        placement=f"`workbench` is the only node with room. Passed over: `{LONG_NAME}` (no room)."
    )
    Deployment.objects.filter(id=deployment.id).update(
        wanted_replicas=3, degraded_since=clock.now() - timedelta(minutes=20), failure=BROKEN
    )
    _promote(deployment)
    Node.objects.update(last_heartbeat_at=clock.now())
    of_model = f"/models/{deployment.model_id}/"
    return {
        "models": "/models/",
        "model": of_model,
        "deployment": f"{of_model}{deployment.id}/",
        "node": f"/nodes/{bad.id}/",
    }


@pytest.mark.parametrize(
    "width", [320, *(pytest.param(width, marks=pytest.mark.long) for width in WIDTHS)]
)
@pytest.mark.usefixtures("measured")
def test_they_have_no_serious_violation_and_fit(
    visit: OpenPage, pages: dict[str, str], width: int
) -> None:
    entries = []
    for name, path in pages.items():
        page = visit(path, viewport={"width": width, "height": 800})
        entries += violations(page, name)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        page.context.close()
    assert entries == []


def test_a_person_tries_again_now_by_a_button(
    visit: OpenPage, stage: Stage, pages: dict[str, str]
) -> None:
    page = visit(pages["deployment"])
    expect(page.get_by_text("Degraded since")).to_be_visible()
    page.get_by_role("button", name="Try again now").click()
    expect(page.get_by_role("button", name="Try again now")).to_have_count(0)
    assert FailedStarts.objects.get().retry_at <= clock.now()


def _remember(deployment: Deployment, node: Node) -> None:
    now = clock.now()
    FailedStarts.objects.create(
        node=node,
        artifact=deployment.artifact,
        count=7,
        first_at=now - timedelta(minutes=20),
        last_at=now,
        retry_at=now + timedelta(minutes=5),
        failure=BROKEN,
    )


def _promote(deployment: Deployment) -> None:
    candidate = factories.make_deployment(
        model=deployment.model, build=deployment.build, name="deployment-3"
    )
    waiting: dict[str, Any] = {
        "status": "RELEASING",
        "percent_traffic_to_new_version": 0,
        "error_message": None,
        "ready_replicas": 1,
        "needed_replicas": 3,
        "most_ready": 1,
        "waits_for": WAITS,
        "gives_up_at": (clock.now() + timedelta(minutes=50)).isoformat(),
    }
    Environment.objects.filter(current=deployment).update(candidate=candidate, promotion=waiting)

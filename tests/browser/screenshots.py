"""Photographs every page in both themes, wide and narrow: `make screenshots`.

`SCREENSHOTS_DIR` says where they go, whole; docs/screenshots keeps the wide ones, the tallest cut.
`PAGES=deployment,nodes` photographs these alone.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Page

from apps.alerts.evaluation import alerts_evaluate
from apps.fleet.models import Node
from benchmarks.many_rows import Amounts, fill
from controlplane import clock
from tests.browser.conftest import OpenPage
from tests.browser.stage import Stage
from tests.factories import make_user
from tests.factories_serving import listened

pytestmark = [
    pytest.mark.screenshots,
    pytest.mark.browser,
    pytest.mark.usefixtures("measured"),
]
FOLDER = Path(os.environ.get("SCREENSHOTS_DIR", "docs/screenshots"))
PAGES = frozenset(filter(None, os.environ.get("PAGES", "").split(",")))
"""All of them where it is empty."""
EMPTY = {
    "first-run": "/",
    "configs-empty": "/configs/",
    "builds-empty": "/builds/",
    "models-empty": "/models/",
    "try-empty": "/models/try/",
}
SILENT = ("overview", "nodes", "node")
"""What shows a node that was heard of no more."""
MANY = {"models-many": "/models/", "configs-many": "/configs/", "nodes-many": "/nodes/"}
TALL_EDITOR = 1080
"""Tall enough for the panel, which scrolls by itself."""
TALLEST_KEPT = 1800
"""In the repository: what is below says more of the same."""
SIZES = {"": (1280, 860), "-narrow": (320, 720)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("suffix", SIZES)
def test_photograph_every_page(visit: OpenPage, stage: Stage, scheme: str, suffix: str) -> None:
    if suffix and "SCREENSHOTS_DIR" not in os.environ:
        pytest.skip("narrow screenshots are not kept; set SCREENSHOTS_DIR to look at them")
    FOLDER.mkdir(parents=True, exist_ok=True)
    width, height = SIZES[suffix]
    for name, path in _chosen(pages_of(stage)).items():
        now = clock.now()
        Node.objects.update(last_heartbeat_at=now, replicas_heard_at=now)
        tall = TALL_EDITOR if name.startswith("editor") and not suffix else height
        page = visit(path, color_scheme=scheme, viewport={"width": width, "height": tall})
        page.wait_for_load_state("networkidle")
        _photograph(page, f"{name}-{scheme}{suffix}")
        page.context.close()
    for name, path in _chosen(pages_of_admins()).items():
        page = visit(
            path, user=stage.admin, color_scheme=scheme, viewport={"width": width, "height": height}
        )
        page.wait_for_load_state("networkidle")
        _photograph(page, f"{name}-{scheme}{suffix}")
        page.context.close()
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": height}}
    newcomer = make_user(email="newcomer@example.com")
    _photograph_each(EMPTY, f"-{scheme}{suffix}", visit, user=newcomer, **options)
    falls_silent()
    every = pages_of(stage)
    silent = {f"{name}-silent": every[name] for name in SILENT}
    _photograph_each(silent, f"-{scheme}{suffix}", visit, **options)
    if _chosen(MANY):
        busy = make_user(email="busy@example.com", is_admin=True)
        fill(busy.team, busy, Amounts(configs=60, builds=200, deployments=200, minutes=5))
        _photograph_each(MANY, f"-{scheme}{suffix}", visit, user=busy, **options)


def falls_silent() -> None:
    """Let every node be heard of no more, and the sweep find it."""
    long_ago = clock.now() - timedelta(minutes=20)
    Node.objects.update(last_heartbeat_at=long_ago, replicas_heard_at=long_ago)
    listened()
    alerts_evaluate()


def _photograph_each(
    paths: Mapping[str, str], suffix: str, visit: OpenPage, **options: Any
) -> None:
    for name, path in _chosen(paths).items():
        page = visit(path, **options)
        page.wait_for_load_state("networkidle")
        _photograph(page, f"{name}{suffix}")
        page.context.close()


def pages_of(stage: Stage) -> dict[str, str]:
    """Return every page by its name, each with something to show."""
    deployment = stage.deployment
    return {
        "overview": "/",
        "search": "/search/?q=smol",
        "docs": "/docs/",
        "document": "/docs/alerts.html",
        "configs": "/configs/",
        "calibration-data": "/calibration-sets/",
        "calibration-set": f"/calibration-sets/{stage.team.calibration_sets.get().id}/",
        "calibration-preview": f"/calibration-sets/previews/{stage.preview.id}/",
        "lookahead": "/lookahead-tunings/",
        "lookahead-tuning": f"/lookahead-tunings/{stage.tuning.id}/",
        "traffic-samples": "/traffic-samples/",
        "editor": f"/configs/{stage.blocked.id}/",
        "editor-yaml": f"/configs/{stage.blocked.id}/?view=yaml",
        "editor-cpu": f"/configs/{stage.small.id}/",
        "editor-waiting": f"/configs/{stage.waiting.id}/",
        "editor-new": "/configs/new/",
        "start": "/configs/start/",
        "model-read": "/configs/start/model/?repo=meta-llama/Llama-3.3-70B-Instruct",
        "revision": f"/configs/{stage.blocked.id}/revisions/1/",
        "revisions": f"/configs/{stage.blocked.id}/revisions/",
        "builds": "/builds/",
        "build-running": f"/builds/{stage.running.number}/",
        "build-failed": f"/builds/{stage.failed.number}/",
        "build-succeeded": f"/builds/{stage.built.number}/",
        "builds-compared": "/builds/compare/"
        f"?build={stage.failed.number}&build={stage.built.number}",
        "artifacts": "/artifacts/",
        "passport": f"/artifacts/{stage.built.artifact_id}/",
        "pushes": f"/artifacts/{stage.built.artifact_id}/pushes/",
        "deploy": f"/models/deploy/{stage.built.number}/",
        "models": "/models/",
        "model": f"/models/{deployment.model_id}/",
        "schedules": f"/models/{deployment.model_id}/environments/production/schedules/",
        "deployment": f"/models/{deployment.model_id}/{deployment.id}/",
        "change-settings": f"/models/{deployment.model_id}/{deployment.id}/change/",
        "try": f"/models/try/?at={deployment.model_id}/environments/production",
        "try-compared": f"/models/try/?at={deployment.model_id}/environments/production"
        f"&beside={deployment.model_id}/deployment/{deployment.id}",
        "async-requests": f"/models/{deployment.model_id}/{deployment.id}/async/",
        "async-request": f"/models/async-requests/{stage.async_request.id}/",
        "nodes": "/nodes/",
        "node": f"/nodes/{Node.objects.get(name='workbench').id}/",
        "runtimes": "/runtimes/",
        "runtimes-every-gpu": "/runtimes/?runtime=vllm&version=0.33&gpus=every",
        "config-fields": "/docs/config/?q=kv_cache",
        "rules": "/rules/?q=fp8_kv",
        "rest": "/docs/rest/?q=team",
        "rest-operation": "/docs/rest/api_keys_post/",
        "alerts": "/alerts/",
        "alert-channels": "/alerts/channels/",
        "alert-channel": f"/alerts/channels/{stage.team.alert_channels.get().id}/",
        "benchmarks": "/benchmarks/",
        "benchmark": f"/benchmarks/{stage.benchmark.id}/",
        "benchmarks-compared": f"/benchmarks/compare/?id={stage.benchmark.id}",
        "secrets": "/secrets/",
        "secret": f"/secrets/{stage.team.secrets.get().id}/",
        "keys": "/keys/",
        "usage": "/usage/",
        "audit": "/audit/",
        "people": "/people/",
        "teams": "/teams/",
        "account": "/account/",
        "sign-in": "/sign-in/",
        "sign-in-link": stage.sign_in_path,
        "join": stage.invitation_path,
    }


def pages_of_admins() -> dict[str, str]:
    """Return the pages that only admins of the organisation see."""
    return {"settings": "/settings/", "remote-code": "/remote-code/"}


def _chosen(pages: Mapping[str, str]) -> dict[str, str]:
    return {name: path for name, path in pages.items() if not PAGES or name in PAGES}


def _photograph(page: Page, name: str) -> None:
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0, f"{name} is {overflow} px wider than the window"
    is_whole = not name.startswith("editor") or name.endswith("narrow")
    page.screenshot(path=FOLDER / f"{name}.png", full_page=is_whole, clip=_kept(page, is_whole))


def _kept(page: Page, is_whole: bool) -> FloatRect | None:
    """Return what is kept of a page that is photographed for the repository, None for all."""
    if not is_whole or "SCREENSHOTS_DIR" in os.environ:
        return None
    width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    return {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST_KEPT)}

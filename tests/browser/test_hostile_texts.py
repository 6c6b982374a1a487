"""Texts that people and models choose, shown by a real browser: none of them runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
EVIL = (
    "<img src=x onerror=\"window.ran=1;document.title='ran'\"><script>window.ran=1</script>"
    "</textarea></script><svg onload=window.ran=1>'\"`{{7*7}}javascript:window.ran=1"
)


def poison(stage: "Stage") -> None:
    """Write the text wherever somebody else's text is shown."""
    from apps.accounts.models import ApiKey, Invitation, Team, User
    from apps.alerts.models import Alert
    from apps.builds.models import Artifact, Build
    from apps.configs.models import CalibrationVersion, Config, Revision
    from apps.deployments.models import Deployment, ServedModel
    from apps.fleet.models import Device, Node
    from apps.secrets.models import Secret
    from apps.telemetry.logs import log_append
    from tests.apps.builds.stage import CALIBRATION, GATE

    Config.objects.filter(id=stage.small.id).update(name=EVIL[:60])
    ServedModel.objects.update(name=EVIL[:60])
    Deployment.objects.filter(id=stage.deployment.id).update(name=EVIL[:60])
    Team.objects.filter(id=stage.team.id).update(name=EVIL[:64])
    User.objects.filter(id=stage.owner.id).update(name=EVIL[:150])
    ApiKey.objects.update(name=EVIL[:64])
    Secret.objects.update(name=EVIL)
    Alert.objects.update(sentence=EVIL, hint=EVIL)
    Node.objects.update(name=EVIL[:60])
    Device.objects.update(name=EVIL[:60])
    _invite(Invitation, stage)
    Revision.objects.filter(config=stage.small).update(
        text=f"model_name: |\n  {EVIL}\n{EVIL}: 1\n# {EVIL}\n"
    )
    failure = {"code": EVIL, "blame": "machine", "field": EVIL, "fix": None}
    Build.objects.filter(id=stage.failed.id).update(
        failure=failure | {"sentence": EVIL, "hint": EVIL, "detail": EVIL}
    )
    _poison_built(stage, GATE, CALIBRATION)
    passport = {"format": 1, "tools": {EVIL: EVIL}, "gate": EVIL, "chat_template": EVIL}
    passport["checkpoint"] = {"source": "HF", "repo": EVIL, "commit": EVIL}
    files = [{"path": EVIL, "sha256": EVIL, "size_bytes": 1}]
    Artifact.objects.update(passport=passport, files=files)
    CalibrationVersion.objects.update(file_name=EVIL[:60])
    for build in (stage.failed, stage.running, stage.built):
        for step in ("fetch", "inspect", "package", "smoke_test"):
            log_append(
                owner=f"build:{build.id}:{step}", attempt=1, sequence=9, text=f"ERROR {EVIL}\n"
            )


def _invite(invitations: type, stage: "Stage") -> None:
    from datetime import timedelta

    from controlplane import clock

    invitations.objects.create(  # type: ignore[attr-defined]
        token_sha256="a" * 64,
        team=stage.team,
        email='"<img/src=x/onerror=window.ran=1>"@example.com',
        expires_at=clock.now() + timedelta(days=1),
    )


def _poison_built(stage: "Stage", gate: dict, calibration: dict) -> None:  # type: ignore[type-arg]
    sample = {"perplexity_ratio": 1.21, "tokens": 64, "text": EVIL}
    results = {
        "smoke_test": {"question": EVIL, "answer": EVIL, "finish_reason": EVIL, "max_tokens": 16},
        "gate": gate | {"worst": [sample], "measured_by": EVIL, "note": EVIL},
        "calibrate": calibration | {"dataset": EVIL, "rows": [EVIL]},
    }
    for name, result in results.items():
        for step in stage.built.steps.filter(name=name):
            step.result = (step.result or {}) | result
            step.save()


def paths(stage: "Stage") -> list[str]:
    """Every page that shows some of it."""
    from apps.builds.models import Artifact
    from apps.configs.models import CalibrationVersion

    version = CalibrationVersion.objects.first()
    assert version is not None
    return [
        "/", "/configs/", "/builds/", "/artifacts/", "/models/", "/nodes/", "/secrets/", "/keys/",
        "/people/", "/teams/", "/account/", "/calibration-sets/",
        f"/configs/{stage.small.id}/",
        f"/configs/{stage.small.id}/revisions/1/",
        f"/builds/{stage.failed.number}/",
        f"/builds/{stage.running.number}/",
        f"/builds/{stage.built.number}/",
        f"/artifacts/{Artifact.objects.filter(team=stage.team).values_list('id', flat=True)[0]}/",
        f"/models/{stage.deployment.model_id}/{stage.deployment.id}/",
        f"/models/try/?at={stage.deployment.model_id}/deployment/{stage.deployment.id}",
    ]  # fmt: skip


@pytest.mark.usefixtures("measured")
def test_no_text_of_anybody_runs_in_the_browser(visit: Callable[..., Page], stage: "Stage") -> None:
    poison(stage)
    shown = 0
    page = visit("/")
    origin = page.url.rstrip("/")
    for path in paths(stage):
        answer = page.goto(origin + path)
        assert answer is not None
        assert answer.ok, path
        assert page.evaluate("window.ran") is None, path
        assert page.title() != "ran", path
        planted = page.locator("img[src=x], svg[onload], [onerror]").count()
        assert planted == 0, path
        shown += "onerror" in (page.locator("body").text_content() or "")
    assert shown >= 10

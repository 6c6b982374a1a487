"""A build worker makes a preview that a person asked for, and gives it back when it must stop."""

import io
import signal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.services import (
    preview_claim,
    preview_finish,
    preview_renew,
    preview_request,
    previews_sweep,
    set_upload,
)
from apps.configs.models import Revision
from apps.secrets.services import secret_set
from tests.apps.configs.calibration_sets.uploads import chats, jsonl
from tests.processes import CeleryWorker, wait_for
from tests.workers.tasks.building import make_buildable

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.recovery, pytest.mark.engine]
POOL = "previews"
FP8 = "    quantization_type: fp8\n"


@pytest.fixture
def revision(checkpoint: Path, broker: str, transactional_db: None) -> Revision:
    return make_buildable(checkpoint, added=FP8 + f"enginehouse:\n  pool: {POOL}\n")


def fresh(preview: CalibrationPreview) -> CalibrationPreview:
    preview.refresh_from_db()
    return preview


def aged(preview: CalibrationPreview) -> None:
    """Let its message count as lost."""
    from datetime import timedelta

    from django.utils import timezone

    CalibrationPreview.objects.filter(id=preview.id).update(
        created_at=timezone.now() - timedelta(minutes=1)
    )


def test_a_worker_that_is_killed_leaves_the_preview_to_the_next(revision: Revision) -> None:
    team = revision.config.team
    set_upload(team=team, name="chats", file=io.BytesIO(chats()), file_name="chats.jsonl")
    preview = preview_request(revision=revision, dataset="team/chats")
    slow = {"ENGINEHOUSE_STEP_DELAY_SECONDS": "30"}
    with CeleryWorker(f"build.{POOL}", concurrency=1, environment=slow) as killed:
        killed.wait_until_ready()
        wait_for(lambda: fresh(preview).state == "running", seconds=60, what="a claim")
        killed.send(signal.SIGKILL)
    aged(preview)
    with CeleryWorker(f"build.{POOL}", concurrency=1, environment={}) as worker:
        worker.wait_until_ready()
        wait_for(
            lambda: fresh(preview).finished_at,
            seconds=120,
            what=lambda: worker.log.read_text()[-2000:],
            meanwhile=previews_sweep,
        )
    assert (preview.state, preview.failure, preview.lease_token) == ("finished", None, 2)
    shown = preview.result["samples"]
    assert len(shown) == 5
    assert shown[0]["text"].startswith("<|im_start|>user\n")
    assert preview.result["seed"] == 20_260_101


def test_a_lost_lease_writes_nothing_and_a_preview_is_not_begun_for_ever(
    revision: Revision,
) -> None:
    preview = preview_request(revision=revision, dataset="enginehouse/general")
    taken = preview_claim(preview_id=preview.id)
    assert taken is not None
    assert preview_claim(preview_id=preview.id) is None
    assert preview_renew(lease=taken)
    for _ in range(4):
        CalibrationPreview.objects.update(lease_expires_at=None)
        assert preview_claim(preview_id=preview.id) is not None
    assert not preview_renew(lease=taken)
    assert not preview_finish(lease=taken, result={"samples": []})
    CalibrationPreview.objects.update(lease_expires_at=None)
    assert preview_claim(preview_id=preview.id) is None
    previews_sweep()
    assert fresh(preview).state == "failed"
    assert preview.failure["code"] == "EHC-PREVIEW-LOST"


def test_the_secrets_of_a_preview_go_to_the_holder_of_its_lease_alone(
    revision: Revision, settings: Settings, tmp_path: Path
) -> None:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    secret_set(team=revision.config.team, name="hf_access_token", value="hf_canary")
    spec = {**revision.spec, "secrets": {"hf_access_token": None}}
    Revision.objects.filter(id=revision.id).update(spec=spec)
    revision.refresh_from_db()
    lease = preview_claim(preview_id=preview_request(revision=revision).id)
    assert lease is not None

    def ask(token: int, secret: str) -> Any:
        path = f"/internal/v1/calibration_previews/{lease.preview_id}/secrets"
        body = {"token": token, "lease_secret": secret}
        return Client().post(path, body, content_type="application/json")

    assert ask(lease.token, lease.secret).json() == {"secrets": {"hf_access_token": "hf_canary"}}
    assert ask(lease.token + 1, lease.secret).status_code == 403
    assert ask(lease.token, "guessed").status_code == 403
    preview_finish(lease=lease, result={})
    assert ask(lease.token, lease.secret).status_code == 403


def test_a_build_keeps_the_version_that_it_began_with(revision: Revision, data_dir: Path) -> None:
    from apps.builds.models import BuildStep
    from apps.configs.calibration_sets.models import CalibrationVersion
    from apps.configs.calibration_sets.selectors import sets_of_job
    from controlplane.domain.spec import Spec
    from tests.factories import make_build
    from workers.tasks.building.jobs import pinned_data

    team = revision.config.team
    for content in (jsonl(), jsonl(20)):
        set_upload(team=team, name="lines", file=io.BytesIO(content), file_name="a.jsonl")
    spec = dict(revision.spec)
    spec["trt_llm"]["build"]["quantization_config"]["calib_dataset"] = "team/lines"
    build = make_build(revision=revision)
    list(build.steps.all())
    assert pinned_data(build) == {}
    first = CalibrationVersion.objects.get(set__name="lines", number=1)
    told = {"dataset": "team/lines", "revision": first.digest}
    BuildStep.objects.filter(build=build, name="fetch").update(
        state="finished", result={"commit": "c", "calibration": told}
    )
    wanted = Spec.model_validate(spec)
    (kept,) = sets_of_job(team=team, spec=wanted, pinned=pinned_data(build)).values()
    assert kept["version"] == 1
    (latest,) = sets_of_job(team=team, spec=wanted).values()
    assert latest["version"] == 2

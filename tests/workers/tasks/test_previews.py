"""A build worker makes a preview that a person asked for, and gives it back when it must stop."""

import io
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.configs.calibration_sets.leasing import PREVIEW
from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.services.previews import (
    preview_finish,
    preview_request,
)
from apps.configs.calibration_sets.services.sets import set_upload
from apps.configs.models import Revision
from apps.leases.redeeming import lease_redeem
from apps.leases.services import lease_claim
from apps.leases.sweeping import leases_sweep
from apps.secrets.services.values import secret_set
from controlplane import clock
from tests.apps.configs.calibration_sets.uploads import chats, jsonl
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.waiting import wait_for
from tests.workers.tasks.building import make_buildable

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.engine,
    pytest.mark.process,
]
POOL = "previews"
FP8 = "    quantization_type: fp8\n"


@pytest.fixture
def revision(checkpoint: Path, broker: str, transactional_db: None) -> Revision:
    return make_buildable(checkpoint, added=FP8 + f"enginehouse:\n  pool: {POOL}\n")


def fresh(preview: CalibrationPreview) -> CalibrationPreview:
    preview.refresh_from_db()
    return preview


@pytest.mark.long  # tests/apps/leases
def test_a_worker_that_is_killed_leaves_the_preview_to_the_next(revision: Revision) -> None:
    team = revision.config.team
    set_upload(team=team, name="chats", file=io.BytesIO(chats()), file_name="chats.jsonl")
    preview = preview_request(revision=revision, dataset="team/chats")
    with Gates() as gates:
        gates.hold("preview")
        with CeleryWorker(f"build.{POOL}", gates=gates) as killed:
            gates.wait_for_arrival("preview")
            killed.send(signal.SIGKILL)
        gates.let_go("preview")
        CalibrationPreview.objects.update(created_at=clock.now() - timedelta(minutes=1))
        with CeleryWorker(f"build.{POOL}", gates=gates) as worker:
            worker.wait_until_ready()
            wait_for(
                lambda: fresh(preview).finished_at,
                what=lambda: worker.log.read_text()[-2000:],
                meanwhile=lambda: leases_sweep(PREVIEW),
            )
    assert (preview.state, preview.failure, preview.lease_claims) == ("finished", None, 2)
    shown = preview.result["samples"]
    assert len(shown) == 5
    assert shown[0]["text"].startswith("<|im_start|>user\n")
    assert preview.result["seed"] == 20_260_101


def test_a_preview_that_ends_its_worker_each_time_is_given_up(revision: Revision) -> None:
    preview = preview_request(revision=revision, dataset="enginehouse/general")
    for _ in range(5):
        assert lease_claim(kind=PREVIEW, id=preview.id) is not None
        CalibrationPreview.objects.update(lease_expires_at=None)
    leases_sweep(PREVIEW)
    assert fresh(preview).state == "failed"
    assert preview.failure["code"] == "EHC-PREVIEW-LOST"


def test_the_secrets_of_a_preview_go_to_the_holder_of_its_lease(
    revision: Revision, settings: Settings, tmp_path: Path
) -> None:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    secret_set(team=revision.config.team, name="hf_access_token", value="hf_canary")
    spec = {**revision.spec, "secrets": {"hf_access_token": None}}
    Revision.objects.filter(id=revision.id).update(spec=spec)
    revision.refresh_from_db()
    lease = lease_claim(kind=PREVIEW, id=preview_request(revision=revision).id)
    assert lease is not None
    values = {"name": "preview", "id": lease.id, "token": lease.token, "secret": lease.secret}
    assert lease_redeem(**values) == {"hf_access_token": "hf_canary"}
    preview_finish(lease=lease, result={})
    assert lease_redeem(**values) is None


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
    values = {"dataset": "team/lines", "revision": first.digest}
    BuildStep.objects.filter(build=build, name="fetch").update(
        state="finished", result={"commit": "c", "calibration": values}
    )
    record = Spec.model_validate(spec)
    (kept,) = sets_of_job(team=team, spec=record, pinned=pinned_data(build)).values()
    assert kept["version"] == 1
    (latest,) = sets_of_job(team=team, spec=record).values()
    assert latest["version"] == 2

"""The task `configs.preview_calibration`: a few samples as a model will see them, in a child."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings

from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.selectors import preview_to_make, sets_of_job
from apps.configs.calibration_sets.services.previews import preview_claim, preview_finish
from controlplane.artifacts import ArtifactFailure
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import build, calibration
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.kept import kept_files
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.tasks.building.jobs import cpu_threads
from workers.tasks.checkpoint_sources import source_settings
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    Unredeemed,
    claimed,
    drop_or_hand_over,
    lease_folder,
    redeem_secrets,
    retry_on_db_error,
)

LONGEST_SECONDS = 600.0
_STEP = "preview"

_log = logging.getLogger(__name__)


@shared_task(name="configs.preview_calibration")
def preview_calibration(preview_id: str, **newer: Any) -> None:
    """Make one preview, if nobody else does, and store it or why it could not be made."""
    lease = claimed(lambda owner: preview_claim(preview_id=preview_id, owner=owner))
    if lease is None:
        return
    with LeaseKeeper(lease) as keeper, lease_folder(lease, under="previews") as folder:
        try:
            _make_and_store(keeper, folder)
        except Interrupted as stopped:
            drop_or_hand_over(keeper, stopped)


def _make_and_store(keeper: LeaseKeeper, folder: Path) -> None:
    lease = keeper.lease
    try:
        made = _made(keeper, folder)
    except Unredeemed as error:
        made = {"failure": _unredeemed(error)}
    except ArtifactFailure as error:
        made = {"failure": error.failure}
    if not retry_on_db_error(keeper, lambda: preview_finish(lease=lease, **made)):
        _log.warning("preview %s was taken over; this result is dropped", lease.id)


def _made(keeper: LeaseKeeper, folder: Path) -> dict[str, Any]:
    """Return the result or the failure. Raises Unredeemed or Interrupted."""
    preview = retry_on_db_error(keeper, lambda: preview_to_make(preview_id=keeper.lease.id))
    outcome = run_step(
        _command(keeper, preview, folder),
        on_progress=lambda progress: None,
        on_log=lambda data: None,
        heartbeat=_Heartbeat(keeper).beat,
    )
    if outcome.kind is OutcomeKind.FINISHED:
        return {"result": outcome.values}
    return {"failure": _failure_of(outcome, keeper)}


def _command(keeper: LeaseKeeper, preview: CalibrationPreview, folder: Path) -> StepCommand:
    spec = _spec_of(preview)
    wanted = Spec.model_validate(spec)
    sets = retry_on_db_error(keeper, lambda: sets_of_job(team=preview.team, spec=wanted))
    job = Job(
        build_id=preview.id,
        attempt=keeper.lease.token,
        spec=spec,
        inputs={},
        output_dir=str(folder / "output"),
        python=sys.executable,
        options=JobOptions(
            **source_settings(),
            artifact_url=settings.ARTIFACT_URL,
            cpu_threads=cpu_threads(),
            calibration_sets=sets,
        ),
    )
    job.write(folder / "job.json")
    kept_files(job.options, lambda _count: keeper.check())
    secrets: Mapping[str, str] = redeem_secrets(keeper) if wanted.secret_names else {}
    return StepCommand(
        step=_STEP,
        job_path=folder / "job.json",
        lease=keeper.lease.marker,
        instance=str(settings.DATA_DIR),
        secrets=secrets,
    )


def _spec_of(preview: CalibrationPreview) -> dict[str, Any]:
    """Return the revision's spec with the data that are looked at in place of its own."""
    spec = Spec.model_validate(preview.revision.spec).model_dump(mode="json")
    spec["trt_llm"]["build"]["quantization_config"]["calib_dataset"] = preview.dataset
    return spec


def _failure_of(outcome: StepOutcome, keeper: LeaseKeeper) -> Failure:
    """Return why there is no preview. Raises Interrupted where that is for another to say."""
    if outcome.failure is not None:
        return outcome.failure
    if outcome.kind is OutcomeKind.CANCELLED:
        return _too_slow()
    keeper.check()
    raise Interrupted(LeaseStatus.LOST)


def _too_slow() -> Failure:
    return calibration.PREVIEW_SLOW.failure(minutes=LONGEST_SECONDS / 60)


def _unredeemed(error: Unredeemed) -> Failure:
    return error.failure or build.CONTROL_PLANE_OF_PREVIEW.failure(
        address=settings.CONTROL_PLANE_URL, detail=str(error)
    )


class _Heartbeat:
    """Says whether the child goes on: as long as the lease stands, and not for ever."""

    def __init__(self, keeper: LeaseKeeper) -> None:
        self._keeper = keeper
        self._give_up_at = keeper.clock.monotonic() + LONGEST_SECONDS

    def beat(self) -> Verdict:
        """Return whether the child goes on."""
        if self._keeper.status is not LeaseStatus.HELD:
            return Verdict.LOST
        is_late = self._keeper.clock.monotonic() > self._give_up_at
        return Verdict.CANCEL if is_late else Verdict.CONTINUE

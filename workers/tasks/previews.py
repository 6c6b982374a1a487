"""The task `configs.preview_calibration`: a few samples as a model will see them, in a child."""

import logging
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.selectors import sets_of_job
from apps.configs.calibration_sets.services import (
    RENEW_SECONDS,
    PreviewLease,
    preview_claim,
    preview_finish,
    preview_release,
    preview_renew,
)
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import Spec
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.job import Job
from workers.tasks.building.jobs import cpu_threads
from workers.tasks.building.worker import STOPPING
from workers.tasks.checkpoint_sources import source_settings

LONGEST_SECONDS = 600.0
_LEFT_BEHIND_SECONDS = 3600.0
_STEP = "preview"

_log = logging.getLogger(__name__)


@shared_task(name="configs.preview_calibration")
def preview_calibration(preview_id: str, **newer: Any) -> None:
    """Make one preview, if nobody else does, and store it or why it could not be made."""
    lease = preview_claim(preview_id=preview_id)
    if lease is None:
        return
    with _folder(lease) as folder:
        try:
            _store(lease, _run(lease, folder))
        except _Unredeemed as failed:
            preview_finish(lease=lease, failure=failed.failure)


class _Unredeemed(Exception):
    """The control plane gave out no secrets."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.failure = Failure(
            code="EHB-CONTROL-PLANE",
            blame=Blame.MACHINE,
            sentence=f"The control plane at `{settings.CONTROL_PLANE_URL}` did not hand out the "
            "secrets of this preview.",
            hint="Check that the web process runs and that CONTROL_PLANE_URL of the build worker "
            "names it, then ask again.",
            detail=cause,
        )


def _run(lease: PreviewLease, folder: Path) -> StepOutcome:
    preview = CalibrationPreview.objects.select_related("revision", "team").get(id=lease.preview_id)
    spec = _spec_of(preview)
    job = Job(
        build_id=preview.id,
        attempt=lease.token,
        spec=spec,
        inputs={},
        output_dir=str(folder / "output"),
        python=sys.executable,
        options={
            **source_settings(),
            "artifact_url": settings.ARTIFACT_URL,
            "cpu_threads": cpu_threads(),
            "calibration_sets": sets_of_job(team=preview.team, spec=Spec.model_validate(spec)),
        },
    )
    job.write(folder / "job.json")
    command = StepCommand(
        step=_STEP,
        job_path=folder / "job.json",
        lease=lease.marker,
        instance=str(settings.DATA_DIR),
        secrets=_secrets(lease) if Spec.model_validate(spec).secret_names else {},
    )
    return run_step(
        command,
        on_progress=lambda progress: None,
        on_log=lambda data: None,
        heartbeat=_Heartbeat(lease).beat,
    )


def _spec_of(preview: CalibrationPreview) -> dict[str, Any]:
    """Return the revision's spec with the data that are looked at in place of its own."""
    spec = Spec.model_validate(preview.revision.spec).model_dump(mode="json")
    spec["trt_llm"]["build"]["quantization_config"]["calib_dataset"] = preview.dataset
    return spec


def _store(lease: PreviewLease, outcome: StepOutcome) -> None:
    if outcome.kind is OutcomeKind.FINISHED:
        preview_finish(lease=lease, result=outcome.values)
    elif outcome.failure is not None:
        preview_finish(lease=lease, failure=outcome.failure)
    elif outcome.kind is OutcomeKind.CANCELLED:
        preview_finish(lease=lease, failure=_too_slow())
    elif STOPPING.is_set():
        preview_release(lease=lease)
    else:
        _log.warning("preview %s was taken over; this result is dropped", lease.preview_id)


def _too_slow() -> Failure:
    return Failure(
        code="EHC-PREVIEW-SLOW",
        blame=Blame.MACHINE,
        sentence=f"The preview was not ready after {LONGEST_SECONDS / 60:.0f} minutes.",
        hint="A slow hub or a large archive takes longer than a preview waits; a build does wait.",
    )


class _Heartbeat:
    """Renews the lease while the child works."""

    def __init__(self, lease: PreviewLease) -> None:
        self._lease = lease
        self._deadline = time.monotonic() + LONGEST_SECONDS
        self._renew_at = time.monotonic() + RENEW_SECONDS

    def beat(self) -> Verdict:
        """Return whether the child goes on."""
        now = time.monotonic()
        if STOPPING.is_set():
            return Verdict.LOST
        if now > self._deadline:
            return Verdict.CANCEL
        if now < self._renew_at:
            return Verdict.CONTINUE
        self._renew_at = now + RENEW_SECONDS
        return Verdict.CONTINUE if self._renewed() else Verdict.LOST

    def _renewed(self) -> bool:
        try:
            return preview_renew(lease=self._lease)
        except (OperationalError, InterfaceError) as error:
            # The next turn tries again; a lease that ran out meanwhile is somebody else's.
            _log.warning("preview %s: not renewed: %s", self._lease.preview_id, error)
            connection.close()
            return True


def _secrets(lease: PreviewLease) -> dict[str, str]:
    url = (
        f"{settings.CONTROL_PLANE_URL}/internal/v1/calibration_previews/{lease.preview_id}/secrets"
    )
    body = {"token": lease.token, "lease_secret": lease.secret}
    try:
        # No proxy from the environment: this is a neighbour, and the answer holds secrets.
        answer = httpx.post(url, json=body, timeout=10, trust_env=False).raise_for_status()
    except httpx.HTTPError as error:
        raise _Unredeemed(type(error).__name__) from None
    values: dict[str, str] = answer.json()["secrets"]
    return values


@contextmanager
def _folder(lease: PreviewLease) -> Iterator[Path]:
    """Give a folder of this lease's own, gone afterwards; also what killed workers left."""
    root = settings.DATA_DIR / "previews"
    folder = root / f"{lease.preview_id}.{lease.token}"
    folder.mkdir(parents=True, exist_ok=True)
    for other in root.iterdir():
        # Another worker may end its own just now.
        with suppress(FileNotFoundError):
            if time.time() - other.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Steps over a data set for one revision: what previews and tunings have in common."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.accounts.models import Team
from apps.configs.calibration_sets.selectors import sets_of_job
from apps.configs.models import Revision
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import build
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.kept import kept_files
from workers.build_steps.child import StepCommand, Verdict
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.tasks.building.jobs import cpu_threads
from workers.tasks.checkpoint_sources import source_settings
from workers.tasks.leasing import (
    LeaseKeeper,
    LeaseStatus,
    Unredeemed,
    redeem_secrets,
    retry_on_db_error,
)


def data_command(
    keeper: LeaseKeeper,
    folder: Path,
    *,
    step: str,
    team: Team,
    revision: Revision,
    dataset: str,
    **options: Any,
) -> StepCommand:
    """Return what runs a step over a data set, which is on this host by then.

    Raises Unredeemed, Interrupted or ArtifactFailure.
    """
    spec = _spec_over(revision, dataset)
    parsed = Spec.model_validate(spec)
    sets = retry_on_db_error(keeper, lambda: sets_of_job(team=team, spec=parsed))
    job = Job(
        build_id=keeper.lease.id,
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
            **options,
        ),
    )
    job.write(folder / "job.json")
    kept_files(job.options, lambda _count: keeper.check())
    secrets: Mapping[str, str] = redeem_secrets(keeper) if parsed.secret_names else {}
    return StepCommand(
        step=step,
        job_path=folder / "job.json",
        lease=keeper.lease.marker,
        instance=str(settings.DATA_DIR),
        secrets=secrets,
    )


def unredeemed_failure(error: Unredeemed) -> Failure:
    return error.failure or build.CONTROL_PLANE_OF_PREVIEW.failure(
        address=settings.CONTROL_PLANE_URL, detail=str(error)
    )


class LimitedHeartbeat:
    """Says whether the child goes on: as long as the lease stands, and not for ever."""

    def __init__(self, keeper: LeaseKeeper, longest_seconds: float) -> None:
        self._keeper = keeper
        self._give_up_at = keeper.clock.monotonic() + longest_seconds

    @property
    def is_over(self) -> bool:
        return self._keeper.clock.monotonic() > self._give_up_at

    def beat(self) -> Verdict:
        if self._keeper.status is LeaseStatus.CANCEL or self.is_over:
            return Verdict.CANCEL
        if self._keeper.status is not LeaseStatus.HELD:
            return Verdict.LOST
        return Verdict.CONTINUE


def _spec_over(revision: Revision, dataset: str) -> dict[str, Any]:
    """Return the revision's spec with the data that are looked at in place of its own."""
    spec = Spec.model_validate(revision.spec).model_dump(mode="json")
    spec["trt_llm"]["build"]["quantization_config"]["calib_dataset"] = dataset
    return spec

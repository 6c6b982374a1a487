"""The task `configs.preview_calibration`: a few samples as a model will see them, in a child."""

import logging
from pathlib import Path
from typing import Any

from celery import shared_task

from apps.configs.calibration_sets.leasing import PREVIEW
from apps.configs.calibration_sets.selectors import preview_to_make
from apps.configs.calibration_sets.services.previews import preview_finish
from controlplane.artifacts import ArtifactFailure
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import calibration
from workers.build_steps.child import OutcomeKind, StepOutcome, run_step
from workers.tasks.data_steps import LimitedHeartbeat, data_command, unredeemed_failure
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    Unredeemed,
    claimed_one,
    kept,
    lease_folder,
    retry_on_db_error,
)

LONGEST_SECONDS = 600.0
_STEP = "preview"

_log = logging.getLogger(__name__)


@shared_task(name="configs.preview_calibration")
def preview_calibration(preview_id: str, **newer: Any) -> None:
    if (lease := claimed_one(PREVIEW, preview_id)) is not None:
        with kept(lease) as keeper, lease_folder(lease, under="previews") as folder:
            _make_and_store(keeper, folder)


def _make_and_store(keeper: LeaseKeeper, folder: Path) -> None:
    lease = keeper.lease
    try:
        made = _made(keeper, folder)
    except Unredeemed as error:
        made = {"failure": unredeemed_failure(error)}
    except ArtifactFailure as error:
        made = {"failure": error.failure}
    if not retry_on_db_error(keeper, lambda: preview_finish(lease=lease, **made)):
        _log.warning("preview %s was taken over; this result is dropped", lease.id)


def _made(keeper: LeaseKeeper, folder: Path) -> dict[str, Any]:
    """Return the result or the failure. Raises Unredeemed or Interrupted."""
    preview = retry_on_db_error(keeper, lambda: preview_to_make(preview_id=keeper.lease.id))
    command = data_command(
        keeper, folder, step=_STEP, team=preview.team, revision=preview.revision,
        dataset=preview.dataset,
    )  # fmt: skip
    outcome = run_step(
        command,
        on_progress=lambda progress: None,
        on_log=lambda data: None,
        heartbeat=LimitedHeartbeat(keeper, LONGEST_SECONDS).beat,
    )
    if outcome.kind is OutcomeKind.FINISHED:
        return {"result": outcome.values}
    return {"failure": _failure_of(outcome, keeper)}


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

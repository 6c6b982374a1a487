"""The task `configs.tune_lookahead`: recorded answers under each lookahead setting, in a child."""

import logging
from pathlib import Path
from typing import Any

from celery import shared_task

from apps.configs.lookahead_tunings.leasing import TUNING
from apps.configs.lookahead_tunings.selectors import order_of, tuning_to_make
from apps.configs.lookahead_tunings.services import (
    tuning_cancelled,
    tuning_finish,
    tuning_progress,
)
from apps.leases.lease import LeaseLost
from controlplane.artifacts import ArtifactFailure
from controlplane.clock import Clock
from controlplane.domain.failures.registry import calibration
from workers.build_steps.child import OutcomeKind, StepOutcome, run_step
from workers.build_steps.events import Progress
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

LONGEST_SECONDS = 3600.0
PROGRESS_SECONDS = 1.0
_STEP = "tune_lookahead"

_log = logging.getLogger(__name__)


@shared_task(name="configs.tune_lookahead")
def tune_lookahead(tuning_id: str, **newer: Any) -> None:
    if (lease := claimed_one(TUNING, tuning_id)) is not None:
        with kept(lease) as keeper, lease_folder(lease, under="tunings") as folder:
            _make_and_store(keeper, folder)


def _make_and_store(keeper: LeaseKeeper, folder: Path) -> None:
    try:
        made = _made(keeper, folder)
    except Unredeemed as error:
        made = {"failure": unredeemed_failure(error)}
    except ArtifactFailure as error:
        made = {"failure": error.failure}
    if made is None:
        retry_on_db_error(keeper, lambda: tuning_cancelled(lease=keeper.lease))
    elif not retry_on_db_error(keeper, lambda: tuning_finish(lease=keeper.lease, **made)):
        raise LeaseLost(keeper.lease.id)


def _made(keeper: LeaseKeeper, folder: Path) -> dict[str, Any] | None:
    """Return what was counted or the failure, None where it was cancelled.

    Raises Unredeemed, Interrupted or ArtifactFailure.
    """
    tuning = retry_on_db_error(keeper, lambda: tuning_to_make(tuning_id=keeper.lease.id))
    order = retry_on_db_error(keeper, lambda: order_of(tuning))
    command = data_command(
        keeper, folder, step=_STEP, team=tuning.team, revision=tuning.revision,
        dataset=tuning.dataset, lookahead=order,
    )  # fmt: skip
    heartbeat = LimitedHeartbeat(keeper, LONGEST_SECONDS)
    outcome = run_step(
        command,
        on_progress=_Shown(keeper, keeper.clock).take,
        on_log=lambda data: None,
        heartbeat=heartbeat.beat,
    )
    if outcome.kind is OutcomeKind.FINISHED:
        return {"counted": outcome.values}
    return _unfinished(outcome, heartbeat, keeper)


def _unfinished(
    outcome: StepOutcome, heartbeat: LimitedHeartbeat, keeper: LeaseKeeper
) -> dict[str, Any] | None:
    if outcome.failure is not None:
        return {"failure": outcome.failure}
    if keeper.status is LeaseStatus.CANCEL:
        return None
    if heartbeat.is_over:
        return {"failure": calibration.TUNING_SLOW.failure(minutes=LONGEST_SECONDS / 60)}
    keeper.check()
    raise Interrupted(LeaseStatus.LOST)


class _Shown:
    """Stores progress as often as a page looks at it."""

    def __init__(self, keeper: LeaseKeeper, clock: Clock) -> None:
        self._keeper, self._clock = keeper, clock
        self._next = clock.monotonic()

    def take(self, progress: Progress) -> None:
        """Store it, where the last one is old enough or this one is the end."""
        if progress.done != progress.total and self._clock.monotonic() < self._next:
            return
        self._next = self._clock.monotonic() + PROGRESS_SECONDS
        retry_on_db_error(
            self._keeper,
            lambda: tuning_progress(
                lease=self._keeper.lease,
                done=progress.done,
                total=progress.total,
                unit=progress.unit,
            ),
        )

"""The task `artifacts.push`: an artifact to a hub repository or a bucket, by a child process."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.builds.models import ArtifactPush
from apps.builds.pushes.carrying import (
    push_cancelled,
    push_fail,
    push_progress,
    push_succeed,
    push_to_carry_out,
)
from apps.builds.pushes.leasing import PUSH
from apps.leases.lease import Lease, LeaseLost
from controlplane.artifacts import store_variables
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import pushes
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.events import Progress
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions, PushOrder
from workers.tasks.checkpoint_sources import source_settings
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    Unredeemed,
    claimed_one,
    kept,
    lease_folder,
    redeem_secrets,
    retry_on_db_error,
    verdict_of,
)

_STEP = "push"
_WRITE_SECONDS = 0.5
# Its own transfer tells neither how far it is nor what it has; the plain one does both.
_ENVIRONMENT = {"HF_HUB_DISABLE_XET": "1"}

_log = logging.getLogger(__name__)


@shared_task(name="artifacts.push")
def push_artifact(push_id: str, **newer: Any) -> None:
    if (lease := claimed_one(PUSH, push_id)) is not None:
        with (
            kept(lease, cancelled=push_cancelled) as keeper,
            lease_folder(lease, under="pushes") as folder,
        ):
            _carry_out(keeper, folder)


def _carry_out(keeper: LeaseKeeper, folder: Path) -> None:
    push = retry_on_db_error(keeper, lambda: push_to_carry_out(push_id=keeper.lease.id))
    try:
        secrets = redeem_secrets(keeper)
    except Unredeemed as error:
        _fail(keeper, _unredeemed(error))
        return
    _store(keeper, push, _run(keeper, _command(keeper.lease, push, folder, secrets)))


def _run(keeper: LeaseKeeper, command: StepCommand) -> StepOutcome:
    report = _Report(keeper)
    return run_step(
        command,
        on_progress=report.take,
        on_log=lambda data: _log.info("%s: %s", command.lease, data.decode(errors="replace")),
        heartbeat=report.beat,
    )


def _command(
    lease: Lease, push: ArtifactPush, folder: Path, secrets: Mapping[str, str]
) -> StepCommand:
    job = Job(
        build_id=push.id,
        attempt=lease.token,
        spec={},
        inputs={},
        output_dir=str(folder / "output"),
        options=JobOptions(
            **source_settings(), artifact_url=settings.ARTIFACT_URL, push=_order(push)
        ),
    )
    job.write(folder / "job.json")
    return StepCommand(
        step=_STEP,
        job_path=folder / "job.json",
        lease=lease.marker,
        instance=str(settings.DATA_DIR),
        secrets=secrets,
        store_variables=store_variables(),
        environment=_ENVIRONMENT,
    )


def _order(push: ArtifactPush) -> PushOrder:
    passport = push.artifact.passport
    checkpoint = passport.get("checkpoint") or {}
    quantization = passport.get("quantization") or {}
    return PushOrder(
        content_digest=push.artifact.content_digest,
        destination=push.destination,
        secret_name=push.secret_name,
        private=push.private,
        base_model=checkpoint.get("repo") if checkpoint.get("source") == "HF" else None,
        quantization_type=quantization.get("quantization_type"),
    )


def _store(keeper: LeaseKeeper, push: ArtifactPush, outcome: StepOutcome) -> None:
    if outcome.kind is OutcomeKind.FINISHED and outcome.values is not None:
        result, size = dict(outcome.values), push.artifact.size_bytes
        retry_on_db_error(
            keeper, lambda: push_succeed(lease=keeper.lease, result=result, done_bytes=size)
        )
    elif outcome.failure is not None:
        _fail(keeper, outcome.failure)
    else:
        keeper.check()
        raise Interrupted(LeaseStatus.LOST)


def _fail(keeper: LeaseKeeper, failure: Failure) -> None:
    retry_on_db_error(keeper, lambda: push_fail(lease=keeper.lease, failure=failure))


def _unredeemed(error: Unredeemed) -> Failure:
    return error.failure or pushes.CONTROL_PLANE.failure(
        address=settings.CONTROL_PLANE_URL, detail=str(error)
    )


class _Report:
    """Stores how far the child is, twice a second, and tells it whether to go on."""

    def __init__(self, keeper: LeaseKeeper) -> None:
        self._keeper = keeper
        self._written_at = 0.0

    def take(self, progress: Progress) -> None:
        """Take progress; of what the database does not take now, later ones tell."""
        now = self._keeper.clock.monotonic()
        is_due = progress.unit == "bytes" and now - self._written_at >= _WRITE_SECONDS
        if not is_due or not self._keeper.is_reachable:
            return
        self._written_at = now
        try:
            push_progress(lease=self._keeper.lease, done_bytes=progress.done)
        except (OperationalError, InterfaceError):
            connection.close()
        except LeaseLost:
            return  # the next beat ends the child

    def beat(self) -> Verdict:
        return verdict_of(self._keeper.status)

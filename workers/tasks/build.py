"""The task `build.run`: claim a build, carry it out, and end it with the truth."""

import logging
import time

import structlog
from celery import shared_task
from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError, connection

from apps.builds.models import Build
from apps.builds.queue import build_send
from apps.builds.selectors import build_to_run
from apps.builds.services import (
    Lease,
    LeaseLost,
    build_cancelled,
    build_claim,
    build_fail,
    build_release,
)
from apps.deployments.services import deployments_after_build
from controlplane.artifacts import ArtifactFailure
from controlplane.domain.failures import Blame, Failure
from workers.tasks.building.folders import BuildFolder
from workers.tasks.building.insist import insist
from workers.tasks.building.keeper import Interrupted, LeaseKeeper, Standing
from workers.tasks.building.leftovers import prune_host, reap_dead
from workers.tasks.building.owner import process_owner
from workers.tasks.building.run import BuildRun
from workers.tasks.building.stopped import StepFailed
from workers.tasks.building.worker import STOPPING

_CLAIM_PATIENCE_SECONDS = 10.0
_CLAIM_PAUSE_SECONDS = 0.2
_log = logging.getLogger(__name__)


@shared_task(name="build.run")
def build_run(*, build_id: str, format: int, **unknown: object) -> None:
    """Carry out the build, if nobody else does."""
    if unknown:
        _log.warning("build.run: unknown arguments %s", sorted(unknown))
    with structlog.contextvars.bound_contextvars(build_id=build_id):
        lease = _claim(build_id)
        if lease is None:
            return
        _log.info("claimed under token %s", lease.token)
        if _carry_out(lease):
            deployments_after_build(build_id=build_id)
            prune_host()


def _claim(build_id: str) -> Lease | None:
    """Return the lease, or None where another has it or the database stays away."""
    deadline = time.monotonic() + _CLAIM_PATIENCE_SECONDS
    owner = process_owner(settings.NODE_NAME)
    while True:
        try:
            return build_claim(build_id=build_id, owner=owner, on_node=settings.NODE_NAME)
        except (OperationalError, InterfaceError) as error:
            # A restarted database leaves broken connections in the pool: each fails once.
            connection.close()
            if time.monotonic() > deadline:
                _log.warning("no answer from the database, left to the sweep: %s", error)
                return None
            time.sleep(_CLAIM_PAUSE_SECONDS)


def _carry_out(lease: Lease) -> bool:
    """Return whether the build is where its rows say, by this worker's doing."""
    folder = BuildFolder(lease)
    with LeaseKeeper(lease, stopping=STOPPING) as keeper:
        try:
            folder.prepare()
            insist(keeper, reap_dead)
            build = insist(keeper, lambda: build_to_run(build_id=lease.build_id))
            _run(build, keeper, folder)
        except (Interrupted, LeaseLost) as stopped:
            _log.warning("the lease is lost, the result is dropped: %s", stopped)
            return False
        finally:
            folder.clear_drafts()
    return True


def _run(build: Build, keeper: LeaseKeeper, folder: BuildFolder) -> None:
    """Bring the build to an end or give it back. Raises Interrupted or LeaseLost."""
    try:
        BuildRun(build, keeper, folder).run()
    except (StepFailed, ArtifactFailure) as failed:
        _fail(keeper, failed.failure)
    except Interrupted as stopped:
        _stop(build, keeper, stopped.standing)
    except (LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception as error:
        _log.exception("the build broke")
        _fail(keeper, _broken(error))
    else:
        _log.info("succeeded")
        folder.remove()


def _stop(build: Build, keeper: LeaseKeeper, standing: Standing) -> None:
    lease = keeper.lease
    if standing is Standing.CANCEL:
        _log.info("cancelled")
        insist(keeper, lambda: build_cancelled(lease=lease))
    elif standing is Standing.STOPPING:
        _log.info("given back, because this worker is being stopped")
        insist(keeper, lambda: build_release(lease=lease))
        build_send(build_id=build.id, pool=build.pool)
    else:
        raise Interrupted(standing)


def _fail(keeper: LeaseKeeper, failure: Failure) -> None:
    _log.warning("failed: %s: %s", failure.code, failure.sentence)
    try:
        insist(keeper, lambda: build_fail(lease=keeper.lease, failure=failure))
    except DataError:
        # A build whose end cannot be stored would be queued again, for ever.
        _log.exception("the database refused the failure")
        insist(keeper, lambda: build_fail(lease=keeper.lease, failure=_unstorable(failure.blame)))


def _unstorable(blame: Blame) -> Failure:
    return Failure(
        code="EHB-UNSTORABLE",
        blame=blame,
        sentence="The build failed, and the database refused what its step said of the cause.",
        hint="Read the log of the step that failed, and the build worker's log.",
    )


def _broken(error: Exception) -> Failure:
    return Failure(
        code="EHB-INTERNAL",
        blame=Blame.OURS,
        sentence=f"The build worker broke: {type(error).__name__}.",
        hint="Retry the build; if it happens again, report it with the worker's log.",
        detail=str(error)[:1000] or None,
    )

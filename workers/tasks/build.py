"""The task `build.run`: claim a build, carry it out, and end it with the truth."""

import logging
from dataclasses import replace

import structlog
from celery import shared_task
from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError

from apps.builds.models import Build
from apps.builds.selectors import build_to_run
from apps.builds.services.claims import build_claim
from apps.builds.services.progress import build_cancelled, build_fail
from apps.leases.lease import Lease, LeaseLost
from controlplane.artifacts import ArtifactFailure
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.failures.registry import build
from workers.tasks.building.folders import BuildFolder
from workers.tasks.building.leftovers import prune_host, reap_dead
from workers.tasks.building.run import BuildRun
from workers.tasks.building.stopped import StepFailed
from workers.tasks.building.traces import attempt_span, build_trace_id
from workers.tasks.deployments import announce_end
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    claimed,
    drop_or_hand_over,
    retry_on_db_error,
)

_log = logging.getLogger(__name__)


@shared_task(name="build.run")
def build_run(*, build_id: str, format: int, **unknown: object) -> None:
    if unknown:
        _log.warning("build.run: unknown arguments %s", sorted(unknown))
    with structlog.contextvars.bound_contextvars(build_id=build_id):
        lease = claimed(
            lambda owner: build_claim(build_id=build_id, owner=owner, on_node=settings.NODE_NAME)
        )
        if lease is not None and _carry_out(lease):
            announce_end(build_id)
            prune_host()


def _carry_out(lease: Lease) -> bool:
    """Return whether the build is where its rows say, by this worker's doing."""
    folder = BuildFolder(lease)
    with LeaseKeeper(lease) as keeper:
        try:
            folder.prepare()
            retry_on_db_error(keeper, reap_dead)
            build = retry_on_db_error(keeper, lambda: build_to_run(build_id=lease.id))
            trace = structlog.contextvars.bound_contextvars(trace_id=build_trace_id(lease))
            with trace, attempt_span(lease):
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
        _stop(keeper, stopped)
    except (LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception as error:
        _log.exception("the build broke")
        _fail(keeper, _broken(error))
    else:
        _log.info("succeeded")
        folder.remove()


def _stop(keeper: LeaseKeeper, stopped: Interrupted) -> None:
    if stopped.status is LeaseStatus.CANCEL:
        _log.info("cancelled")
        retry_on_db_error(keeper, lambda: build_cancelled(lease=keeper.lease))
    elif stopped.status is LeaseStatus.LOST:
        raise stopped
    else:
        drop_or_hand_over(keeper, stopped)


def _fail(keeper: LeaseKeeper, failure: Failure) -> None:
    _log.warning("failed: %s: %s", failure.code, failure.sentence)
    try:
        retry_on_db_error(keeper, lambda: build_fail(lease=keeper.lease, failure=failure))
    except DataError:
        # A build whose end cannot be stored would be queued again, for ever.
        _log.exception("the database refused the failure")
        retry_on_db_error(
            keeper, lambda: build_fail(lease=keeper.lease, failure=_unstorable(failure.blame))
        )


def _unstorable(blame: Blame) -> Failure:
    """The blame is that of the cause."""
    return replace(build.UNSTORABLE.failure(), blame=blame)


def _broken(error: Exception) -> Failure:
    return build.INTERNAL.failure(error=type(error).__name__, detail=str(error)[:1000] or None)

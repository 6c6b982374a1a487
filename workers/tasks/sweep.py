"""The task `builds.sweep`: every few seconds, what was lost is found."""

import logging

from celery import shared_task

from apps.builds.pushes.leasing import PUSH
from apps.builds.services.sweeping import builds_sweep
from apps.deployments.services.builds import deployments_after_build
from apps.leases.sweeping import leases_sweep
from workers.tasks.building.leftovers import reap_dead

_log = logging.getLogger(__name__)


@shared_task(name="builds.sweep")
def sweep(*, format: int, **unknown: object) -> None:
    """Make builds and pushes true again after a worker, a message or a server was lost."""
    if unknown:
        _log.warning("builds.sweep: unknown arguments %s", sorted(unknown))
    reap_dead()
    done = builds_sweep()
    leases_sweep(PUSH)
    for build_id in done.cancelled:
        deployments_after_build(build_id=build_id)
    if done.given_up or done.requeued or done.cancelled or done.sent:
        _log.info(
            "builds: %s given up, %s back in the queue, %s cancelled, %s sent again",
            done.given_up,
            done.requeued,
            len(done.cancelled),
            done.sent,
        )

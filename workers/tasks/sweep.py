"""The task `builds.sweep`: every few seconds, what was lost is found."""

import logging

from apps.builds.leasing import BUILD
from apps.builds.pushes.leasing import PUSH
from apps.deployments.services.builds import deployments_after_build
from apps.leases.sweeping import leases_sweep
from workers.tasks.building.leftovers import reap_dead
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)


@tick("builds.sweep")
def sweep() -> None:
    reap_dead()
    done = leases_sweep(BUILD)
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

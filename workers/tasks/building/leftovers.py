"""What dead workers of this host left: leases, processes, folders."""

import logging
import os

from django.conf import settings

from apps.builds.leasing import BUILD
from apps.builds.selectors import build_state
from apps.leases.services import lease_is_dead, lease_owners, leases_expire
from apps.leases.sweeping import leases_sweep
from controlplane.domain.forecast.cached import DOWNLOADS_KEPT_SECONDS
from controlplane.sources import prune
from workers.build_steps.reaping import reap_orphans
from workers.runtimes.container.leftovers import sweep_containers, uses_containers
from workers.tasks.building.folders import is_kept, prune_folders
from workers.tasks.leasing.owner import dead_owners

_log = logging.getLogger(__name__)


def reap_dead() -> None:
    """Send the builds of dead workers of this host again, and kill what they left running."""
    if dead := dead_owners(lease_owners()):
        _log.warning("%s leases of dead workers ended", leases_expire(owners=dead))
        leases_sweep(BUILD)
    for reaped in reap_orphans(
        lambda marker: not lease_is_dead(marker), instance=str(settings.DATA_DIR)
    ):
        _log.warning("killed process %s of the dead lease %s", reaped.pid, reaped.lease)
    if uses_containers(os.environ):
        sweep_containers(
            lambda marker: not lease_is_dead(marker),
            instance=str(settings.DATA_DIR),
            environment=os.environ,
        )


def prune_host() -> None:
    removed = prune_folders(lambda build_id, age: is_kept(build_state(build_id=build_id), age))
    downloads = prune(settings.DATA_DIR / "cache", DOWNLOADS_KEPT_SECONDS)
    if removed or downloads:
        _log.info("removed %s build folders and %s downloads", removed, downloads)

import logging
from typing import Any

from celery.signals import worker_ready
from django.db import InterfaceError, OperationalError

from workers.gates import pass_gate
from workers.tasks.building.leftovers import prune_host, reap_dead

_log = logging.getLogger(__name__)


@worker_ready.connect(weak=False)
def _clean_up(**_signal: Any) -> None:
    try:
        reap_dead()
        prune_host()
    except (OperationalError, InterfaceError) as error:
        _log.warning("the database does not answer; the sweep cleans up later: %s", error)
    pass_gate("worker.ready")

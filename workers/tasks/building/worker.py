"""The start and the stop of the worker process."""

import logging
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutting_down
from django.db import InterfaceError, OperationalError

from workers.tasks.building.leftovers import prune_host, reap_dead

STOPPING = threading.Event()
"""Set once this worker was told to stop: the build in hand is then given back at once."""

_log = logging.getLogger(__name__)


@worker_ready.connect(weak=False)
def _clean_up(**_signal: Any) -> None:
    try:
        reap_dead()
        prune_host()
    except (OperationalError, InterfaceError) as error:
        _log.warning("the database does not answer; the sweep cleans up later: %s", error)


@worker_shutting_down.connect(weak=False)
def _stop(**_signal: Any) -> None:
    STOPPING.set()

"""Whether this worker is being stopped."""

import threading
from typing import Any

from celery.signals import worker_shutting_down

STOPPING = threading.Event()
"""Set once this worker was told to stop: the work in hand is then given back at once."""


@worker_shutting_down.connect(weak=False)
def _stop(**_signal: Any) -> None:
    STOPPING.set()

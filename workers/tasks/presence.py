"""That a worker or the scheduler is there: said every few seconds, from the moment it can work."""

import logging
import socket
import threading
from typing import Any

from celery.signals import beat_init, worker_ready, worker_shutdown
from django.db import DatabaseError, connection

from apps.fleet.services.workers import worker_arrived, worker_left, worker_seen
from controlplane.clock import SYSTEM, Clock
from controlplane.version import product_version

EVERY_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Presence(threading.Thread):
    """Says that the worker of that name is there, until it is told to stop."""

    def __init__(self, name: str, *, clock: Clock = SYSTEM) -> None:
        super().__init__(name=f"presence of {name}", daemon=True)
        self._clock = clock
        self._worker = name
        self._left = threading.Event()

    def run(self) -> None:
        while not self._say(arrives=True) and not self._waited():
            pass
        while not self._waited():
            self._say(arrives=False)

    def leave(self) -> None:
        self._left.set()
        self.join()
        try:
            worker_left(name=self._worker)
        except DatabaseError as error:
            _log.debug("%s could not say that it leaves: %s", self._worker, error)
        finally:
            connection.close()

    def _waited(self) -> bool:
        """Return whether it was told to stop meanwhile."""
        return self._clock.wait(self._left, EVERY_SECONDS)

    def _say(self, *, arrives: bool) -> bool:
        try:
            if arrives:
                worker_arrived(name=self._worker, version=product_version())
            else:
                worker_seen(name=self._worker)
        except DatabaseError as error:
            _log.debug("%s could not say that it is there: %s", self._worker, error)
            return False
        finally:
            connection.close()
        return True


_here: list[Presence] = []


@worker_ready.connect
def _begin(sender: Any, **details: object) -> None:
    _start(str(sender.hostname))


@beat_init.connect
def _begin_scheduler(**details: object) -> None:
    _start(f"scheduler@{socket.gethostname()}")


@worker_shutdown.connect
def _end(**details: object) -> None:
    while _here:
        _here.pop().leave()


def _start(name: str) -> None:
    _here.append(Presence(name))
    _here[-1].start()

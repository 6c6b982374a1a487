"""A pause between two connections of a worker to a broker that ends or refuses each at once."""

from typing import Any

from celery import bootsteps

from controlplane.clock import SYSTEM, Clock

PAUSE_SECONDS = 1.0


class BrokerPause(bootsteps.StartStopStep):
    """Without it a worker connects five times a second, with a traceback in its log each time."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def __init__(self, parent: Any, *, clock: Clock = SYSTEM, **options: Any) -> None:
        super().__init__(parent, **options)
        self._clock = clock
        self._began_at = float("-inf")

    def start(self, parent: Any) -> None:
        """Go on, a while after the last time at the earliest."""
        if self._clock.monotonic() - self._began_at < PAUSE_SECONDS:
            self._clock.sleep(PAUSE_SECONDS)
        self._began_at = self._clock.monotonic()

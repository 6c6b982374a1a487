"""How soon workers and the scheduler ask a broker again that is away, or refuses."""

from typing import Any

import kombu
from celery import bootsteps
from celery.app.amqp import AMQP

from controlplane.clock import SYSTEM, Clock

PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 3.0
"""Well below the fifteen seconds within which everything is to be whole again."""
_BOUNDS: dict[str, Any] = {
    "interval_start": PAUSE_SECONDS,
    "interval_step": PAUSE_SECONDS,
    "interval_max": LONGEST_PAUSE_SECONDS,
}


class BoundedConnection(kombu.Connection):
    """Asks a broker that is away every few seconds; kombu's own pauses grow to thirty."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        ensure: Any = super().ensure_connection
        return ensure(*args, **{**_BOUNDS, **options})


class BoundedAmqp(AMQP):
    """Celery's, with such connections."""

    Connection = BoundedConnection


class BrokerPause(bootsteps.StartStopStep):
    """A pause between two connections that the broker ends, or refuses to answer on, at once.

    Without it a worker connects five times a second, with a traceback in its log each time.
    """

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

"""Messages of the host's own queue. Each is a hint to look now; without a broker the agent just
looks a little later.
"""

import logging
import queue
import threading

import kombu
import kombu.exceptions
import redis

from controlplane.clock import SYSTEM, Clock
from controlplane.keepalive import KEEPALIVE

LONGEST_WAIT_SECONDS = 15.0
BREATH_SECONDS = 0.25
"""Between two hints, whoever sends more of them."""
_log = logging.getLogger(__name__)


class Bell(threading.Event):
    """An event that a signal handler may set, even of the thread that waits for it.

    `threading.Event` could not: what it interrupts may hold the lock that it needs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        # However many ring it before anybody hears it, it stays as small.
        if not self.is_set():
            self._rings.put(None)

    def is_set(self) -> bool:
        return not self._rings.empty()

    def clear(self) -> None:
        while self.is_set():
            self._rings.get()

    def wait(self, timeout: float | None = None) -> bool:
        try:
            self._rings.put(self._rings.get(timeout=timeout))
        except queue.Empty:
            return False
        return True


class Hints:
    """A thread that wakes whoever waits for messages, whatever becomes of the broker."""

    def __init__(self, broker_url: str, node_name: str, *, clock: Clock = SYSTEM) -> None:
        # A signal handler uses `stop`.
        self._bell = Bell()
        self._clock = clock
        self._broker_url = broker_url
        name = f"host.{node_name}"
        self._queue = kombu.Queue(name, kombu.Exchange(name, type="direct"), routing_key=name)
        self._is_stopping = False
        self._came_at = float("-inf")

    def start(self) -> None:
        """Listen in the background; nothing is heard without a broker."""
        if self._broker_url:
            threading.Thread(target=self._listen, name="hints", daemon=True).start()

    def stop(self) -> None:
        self._is_stopping = True
        self.note()

    def note(self, message: object = None) -> None:
        """Count any message as a hint, whatever it says."""
        self._bell.set()

    def wait(self, seconds: float) -> bool:
        """Return whether a hint came within `seconds`; those that came together are one."""
        came = self._clock.wait(self._bell, seconds)
        if came:
            self._take_breath()
            self._bell.clear()
        return came

    def _take_breath(self) -> None:
        early = self._came_at + BREATH_SECONDS - self._clock.monotonic()
        if early > 0 and not self._is_stopping:
            self._clock.sleep(early)
        self._came_at = self._clock.monotonic()

    def _listen(self) -> None:
        wait_seconds = 0.5
        while not self._is_stopping:
            try:
                self._consume()
                wait_seconds = 0.5
            except (OSError, kombu.exceptions.KombuError, redis.RedisError) as error:
                _log.warning("the broker does not answer (%s); asking every few seconds", error)
                self._clock.sleep(wait_seconds)
                wait_seconds = min(LONGEST_WAIT_SECONDS, wait_seconds * 2)

    def _consume(self) -> None:
        options = {
            "socket_connect_timeout": 3,
            "socket_timeout": 10,
            "health_check_interval": 10,
            "socket_keepalive": True,
            "socket_keepalive_options": dict(KEEPALIVE),
        }
        with (
            kombu.Connection(self._broker_url, transport_options=options) as connection,
            # Unacknowledged, unread: a hint that cannot be understood must not come back for ever.
            kombu.Consumer(connection.channel(), [self._queue], on_message=self.note, no_ack=True),
        ):
            while not self._is_stopping:
                try:
                    connection.drain_events(timeout=1.0)
                except TimeoutError:
                    continue

"""Messages of the host's own queue. Each is a hint to look now; without a broker the agent just
looks a little later.
"""

import logging
import queue
import threading
import time

import kombu
import kombu.exceptions
import redis

LONGEST_WAIT_SECONDS = 15.0
_log = logging.getLogger(__name__)


class Hints:
    """A thread that wakes whoever waits for messages, whatever becomes of the broker."""

    def __init__(self, broker_url: str, node_name: str) -> None:
        # Unlike an event it may be used by a signal handler, as `stop` is.
        self._came: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._broker_url = broker_url
        name = f"host.{node_name}"
        self._queue = kombu.Queue(name, kombu.Exchange(name, type="direct"), routing_key=name)
        self._is_stopping = False

    def start(self) -> None:
        """Listen in the background; nothing is heard without a broker."""
        if self._broker_url:
            threading.Thread(target=self._listen, name="hints", daemon=True).start()

    def stop(self) -> None:
        self._is_stopping = True
        self.note()

    def note(self, message: object = None) -> None:
        """Take a message for a hint, whatever it says."""
        self._came.put(None)

    def wait(self, seconds: float) -> bool:
        """Return whether a hint came within `seconds`; those that came together are one."""
        try:
            self._came.get(timeout=seconds)
        except queue.Empty:
            return False
        while not self._came.empty():
            self._came.get()
        return True

    def _listen(self) -> None:
        wait_seconds = 0.5
        while not self._is_stopping:
            try:
                self._consume()
                wait_seconds = 0.5
            except (OSError, kombu.exceptions.KombuError, redis.RedisError) as error:
                _log.warning("the broker does not answer (%s); asking every few seconds", error)
                time.sleep(wait_seconds)
                wait_seconds = min(LONGEST_WAIT_SECONDS, wait_seconds * 2)

    def _consume(self) -> None:
        options = {"socket_connect_timeout": 3, "socket_timeout": 10, "health_check_interval": 10}
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

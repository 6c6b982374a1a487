"""Messages of the host's own queue. Each is a hint to look now; without a broker the agent just
looks a little later.
"""

import logging
import threading

import kombu
import kombu.exceptions
import redis

LONGEST_WAIT_SECONDS = 15.0
_log = logging.getLogger(__name__)


class Hints:
    """A thread that turns messages into a set event, whatever becomes of the broker."""

    def __init__(self, broker_url: str, node_name: str) -> None:
        self.event = threading.Event()
        self._broker_url = broker_url
        name = f"host.{node_name}"
        self._queue = kombu.Queue(name, kombu.Exchange(name, type="direct"), routing_key=name)
        self._stopping = threading.Event()

    def start(self) -> None:
        """Listen in the background; nothing is heard without a broker."""
        if self._broker_url:
            threading.Thread(target=self._listen, name="hints", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self.event.set()

    def wait(self, seconds: float) -> bool:
        """Return whether a hint came within `seconds`."""
        came = self.event.wait(seconds)
        self.event.clear()
        return came

    def _listen(self) -> None:
        wait_seconds = 0.5
        while not self._stopping.is_set():
            try:
                self._consume()
                wait_seconds = 0.5
            except (OSError, kombu.exceptions.KombuError, redis.RedisError) as error:
                _log.warning("the broker does not answer (%s); asking every few seconds", error)
                self._stopping.wait(wait_seconds)
                wait_seconds = min(LONGEST_WAIT_SECONDS, wait_seconds * 2)

    def _consume(self) -> None:
        options = {"socket_connect_timeout": 3, "socket_timeout": 10, "health_check_interval": 10}
        with (
            kombu.Connection(self._broker_url, transport_options=options) as connection,
            # Unacknowledged, unread: a hint that cannot be understood must not come back for ever.
            kombu.Consumer(connection.channel(), [self._queue], on_message=self._note, no_ack=True),
        ):
            while not self._stopping.is_set():
                try:
                    connection.drain_events(timeout=1.0)
                except TimeoutError:
                    continue

    def _note(self, message: object) -> None:
        self.event.set()

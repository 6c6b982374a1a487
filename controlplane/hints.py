"""Messages to workers: hints, for which nobody waits long.

They are sent by requests and sweeps, and the row that a message is about is the truth: one that a
silent broker did not take is sent again by a sweep, or not missed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import amqp.exceptions
import kombu
import redis.exceptions
from django.conf import settings
from kombu.exceptions import LimitExceeded, OperationalError
from kombu.pools import connections, producers

from controlplane.celery import app
from controlplane.clock import SYSTEM, Clock

_CALL_SECONDS = 1.0
_REST_SECONDS = 2.0
"""How long a broker that took a call and said nothing is left alone."""
_TRANSPORT_OPTIONS: Mapping[str, object] = {
    "max_retries": 0,
    "retry_on_timeout": False,  # else redis-py asks once more, each time
    "socket_connect_timeout": _CALL_SECONDS,
    "socket_timeout": _CALL_SECONDS,
}


class HintLost(Exception):
    """The broker did not take a message, or did not say how many it holds."""


class Hints:
    """One sender of a process; its threads share what is known of a silent broker."""

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._silent_until: dict[str, float] = {}

    def send(
        self,
        task: str,
        *,
        queue: str,
        arguments: Mapping[str, object],
        expires_seconds: float | None = None,
    ) -> None:
        """Send a task. Raises HintLost."""
        with self._asking() as broker:
            pool = producers[broker]
            with pool.acquire(block=True, timeout=_CALL_SECONDS) as producer:
                app.send_task(
                    task,
                    kwargs=dict(arguments),
                    queue=queue,
                    retry=False,
                    expires=expires_seconds,
                    producer=producer,
                )

    def queue_length(self, name: str) -> int:
        """Return how many messages wait in a queue. Raises HintLost."""
        with self._asking() as broker:
            pool = connections[broker]
            with pool.acquire(block=True, timeout=_CALL_SECONDS) as connection:
                return _queue_length(connection, name)

    @contextmanager
    def _asking(self) -> Iterator[kombu.Connection]:
        url = settings.BROKER_URL
        if self._clock.monotonic() < self._silent_until.get(url, 0.0):
            raise HintLost("the broker said nothing a moment ago")
        try:
            yield app.connection_for_write(url, transport_options=_TRANSPORT_OPTIONS)
        except (OperationalError, LimitExceeded, redis.exceptions.RedisError, OSError) as error:
            if _is_silence(error):
                self._silent_until[url] = self._clock.monotonic() + _REST_SECONDS
            raise HintLost(str(error) or type(error).__name__) from error


def _queue_length(connection: kombu.Connection, name: str) -> int:
    queue = kombu.Queue(name, channel=connection.default_channel)
    try:
        declared: Any = queue.queue_declare(passive=True)
    except amqp.exceptions.ChannelError:  # an empty queue does not exist
        return 0
    return int(declared.message_count)


def _is_silence(error: BaseException) -> bool:
    # One that refuses a call costs nothing, and may be back with the next.
    return any(
        isinstance(each, (TimeoutError, redis.exceptions.TimeoutError, LimitExceeded))
        for each in (error, error.__cause__, error.__context__)
    )


_HINTS = Hints()
hint_send = _HINTS.send
queue_length = _HINTS.queue_length

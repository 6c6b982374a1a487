"""The web process's word, each second, that it hears the machines."""

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn
from django.db import Error, connection

from controlplane.clock import SYSTEM, Clock

_log = logging.getLogger(__name__)


class ListeningServer(uvicorn.Server):
    """Says that it listens from when it does until it begins to stop."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._beats = asyncio.create_task(keep_saying())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._beats.cancel()
        await super().shutdown(sockets)


async def keep_saying(say: Callable[[], None] = lambda: _say(), *, clock: Clock = SYSTEM) -> None:
    """Say it while the loop that takes requests turns and the database takes the word."""
    # The apps are there only after Django's set-up.
    from apps.fleet.services.listening import BEAT_SECONDS

    while True:
        await asyncio.to_thread(say)
        await clock.pause(BEAT_SECONDS)


def _say() -> None:
    from apps.fleet.services.listening import listening_beat

    try:
        listening_beat()
    except Error as error:
        # Whoever judges by it takes the gap for what it is.
        _log.debug("nobody could be told that this process listens: %s", error)
    finally:
        connection.close()

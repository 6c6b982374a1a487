"""The life of a front: listen, watch the engine, drain."""

import asyncio
import signal
import socket
from collections.abc import Callable

import uvloop

from workers.engine.server.front.connection import Connection
from workers.engine.server.front.exchange import Handler

BACKLOG = 2048
TICK_SECONDS = 0.1


class Connections:
    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.is_closing = False
        self._open: set[Connection] = set()
        self._ended = asyncio.Event()
        self._ended.set()

    def join(self, connection: Connection) -> None:
        connection.idle_since = self.now()
        self._open.add(connection)
        self._ended.clear()

    def leave(self, connection: Connection) -> None:
        self._open.discard(connection)
        if not self._open:
            self._ended.set()

    def close_idle(self, *, seconds: float) -> None:
        for each in [each for each in self._open if each.is_idle]:
            if self.now() - each.idle_since >= seconds:
                each.close()

    async def drain(self) -> None:
        """Let each answer what it was asked, and close."""
        self.is_closing = True
        self.close_idle(seconds=0)
        await self._ended.wait()

    def abort(self) -> None:
        """Close all at once."""
        for each in tuple(self._open):
            each.abort()


class Front:
    """Serves on a socket until a signal, or until the engine is no more."""

    def __init__(
        self,
        make_handler: Callable[[], Handler],
        is_alive: Callable[[], bool],
        *,
        keep_alive_seconds: float,
        lost_seconds: float,
    ) -> None:
        self._make_handler = make_handler
        self._is_alive = is_alive
        self._keep_alive_seconds = keep_alive_seconds
        self._lost_seconds = lost_seconds

    def run(self, listener: socket.socket) -> None:
        """Serve; come back when the last answer is sent."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        handler, connections = self._make_handler(), Connections(loop.time)
        end_requested, again = asyncio.Event(), asyncio.Event()

        def end() -> None:
            (again if end_requested.is_set() else end_requested).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
        server = await loop.create_server(
            lambda: Connection(handler, connections), sock=listener, backlog=BACKLOG
        )
        await self._until(end_requested, connections)
        server.close()
        await self._drained(connections, again)

    async def _until(self, end_requested: asyncio.Event, connections: Connections) -> None:
        end_request = asyncio.ensure_future(end_requested.wait())
        while self._is_alive() and not end_request.done():
            connections.close_idle(seconds=self._keep_alive_seconds)
            await asyncio.wait({end_request}, timeout=TICK_SECONDS)
        end_request.cancel()

    async def _drained(self, connections: Connections, again: asyncio.Event) -> None:
        """Wait for the answers; those of a lost engine come soon or never."""
        draining = asyncio.ensure_future(connections.drain())
        hurrying = asyncio.ensure_future(again.wait())
        while not (draining.done() or hurrying.done()):
            seconds = TICK_SECONDS if self._is_alive() else self._lost_seconds
            await asyncio.wait(
                {draining, hurrying}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if seconds == self._lost_seconds:
                break
        draining.cancel()
        hurrying.cancel()
        connections.abort()

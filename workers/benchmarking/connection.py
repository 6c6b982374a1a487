"""Connections to a gateway: kept open, one request at a time on each."""

import asyncio
import ssl
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

from controlplane.clock import Clock
from workers.benchmarking.answers import Answer

_OWN_WORDS = {
    ConnectionRefusedError: "connection refused",
    ConnectionResetError: "connection reset",
    TimeoutError: "not answered in time",
}


class _Connection(asyncio.Protocol):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answer: Answer | None = None
        self._ended: asyncio.Future[None] | None = None
        self._parser: Any = None
        self.is_usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    async def ask(self, content: bytes, answer: Answer) -> None:
        """Return once the answer is whole. Raises OSError where the connection ends before."""
        self._answer, self._parser = answer, httptools.HttpResponseParser(self)
        self._ended = asyncio.get_running_loop().create_future()
        self.transport.write(content)
        await self._ended

    def data_received(self, data: bytes) -> None:
        try:
            if self._parser is not None:
                self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._end(ConnectionResetError("an answer that is no HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_usable = False
        self._end(error if isinstance(error, OSError) else ConnectionResetError())

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is not None:
            self._answer.take_header(name, value)

    def on_headers_complete(self) -> None:
        if self._answer is not None:
            self._answer.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if self._answer is not None:
            self._answer.take(body, self._clock.monotonic())

    def on_message_complete(self) -> None:
        self.is_usable = self.is_usable and self._parser.should_keep_alive()
        if self._answer is not None:
            self._answer.end(self._clock.monotonic())
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        ended, self._ended, self._answer = self._ended, None, None
        if ended is None or ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            self.is_usable = False
            ended.set_exception(error)


class Client:
    """Asks one server with as many connections as it takes; a request names its own end."""

    def __init__(self, url: str, *, headers: dict[str, str], clock: Clock) -> None:
        parts = urlsplit(url)
        self._host, self._is_secure = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        named = {"host": parts.netloc, "content-type": "application/json", **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self._path, self._clock = parts.path, clock
        self._idle: list[_Connection] = []

    def written(self, route: str, body: bytes) -> bytes:
        first = f"POST {self._path}{route} HTTP/1.1\r\n"
        return f"{first}{self._head}content-length: {len(body)}\r\n\r\n".encode() + body

    async def ask(self, content: bytes, answer: Answer, *, seconds: float) -> None:
        """Ask, and write into the answer how it ended; a cancelled request closes its line."""
        connection: _Connection | None = None
        try:
            async with self._clock.timeout(seconds):
                connection = await self._connected()
                await connection.ask(content, answer)
        except (OSError, TimeoutError) as error:
            answer.timed.error = _OWN_WORDS.get(type(error), f"{type(error).__name__}: {error}")
            answer.timed.ended_at = self._clock.monotonic()
        finally:
            self._give_back(connection, answer)

    def close(self) -> None:
        for each in self._idle:
            each.transport.abort()
        self._idle.clear()

    async def _connected(self) -> _Connection:
        while self._idle:
            if (kept := self._idle.pop()).is_usable:
                return kept
        loop = asyncio.get_running_loop()
        secure = ssl.create_default_context() if self._is_secure else None
        _, made = await loop.create_connection(
            lambda: _Connection(self._clock), self._host, self._port, ssl=secure
        )
        return made

    def _give_back(self, connection: _Connection | None, answer: Answer) -> None:
        if connection is None:
            return
        if connection.is_usable and answer.timed.ended_at is not None and answer.status:
            self._idle.append(connection)
        else:
            connection.transport.abort()

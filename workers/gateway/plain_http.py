"""Requests to the control plane over HTTP/1.1, on connections that are kept for the next one.

All of an answer is bounded, in bytes, in silence and in seconds. No redirect is followed and no
proxy is used, since requests carry a credential.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httptools

from controlplane.clock import SYSTEM, Clock
from controlplane.keepalive import Socket, probe_when_quiet

IDLE_SECONDS = 4.0
"""Below the 5 s after which the web process closes an idle connection."""
_LONGEST_HEAD_BYTES = 64 * 1024
_DEFAULT_PORTS = {"http": 80, "https": 443}


class NoAnswer(OSError):
    """Nobody answered, or not as HTTP wants it, or without an end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What an answer may take."""

    most_bytes: int
    silent_seconds: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class PlainHttp:
    """Asks one server."""

    def __init__(self, url: str, *, clock: Clock = SYSTEM) -> None:
        parts = urlsplit(url)
        self._clock = clock
        self._host = parts.hostname or ""
        self._port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
        self._authority = parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: list[_Connection] = []

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, limits: Limits
    ) -> Answer:
        """Return the answer, whatever its status. Raises NoAnswer."""
        request = self._request(method, target, headers, body)
        try:
            async with self._clock.timeout(limits.seconds):
                connection = await self._connection(limits)
                return await self._answer(connection, request, limits)
        except TimeoutError:
            raise NoAnswer("no whole answer in time") from None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
        sent = {"host": self._authority, **headers, "content-length": str(len(body))}
        lines = [f"{method} {self._path}{target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in sent.items()]
        if not all(line.isascii() and line.isprintable() for line in lines):
            raise NoAnswer("the request holds what HTTP cannot carry")
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _connection(self, limits: Limits) -> "_Connection":
        now = self._clock.monotonic()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and now - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.close()
        return await self._connect(limits)

    async def _connect(self, limits: Limits) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            async with self._clock.timeout(limits.silent_seconds):
                _, made = await loop.create_connection(
                    _Connection, self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise NoAnswer("no connection in time") from None
        except (OSError, OverflowError, ValueError) as error:  # the last two: no address at all
            raise NoAnswer(f"{type(error).__name__}: {error}") from error
        return made

    async def _answer(self, connection: "_Connection", request: bytes, limits: Limits) -> Answer:
        coming = connection.send(request, limits.most_bytes)
        try:
            answer = await self._heard_out(connection, coming, limits.silent_seconds)
        except BaseException:
            connection.drop()
            raise
        if connection.is_open:
            connection.idle_since = self._clock.monotonic()
            self._idle.append(connection)
        return answer

    async def _heard_out(
        self, connection: "_Connection", coming: "asyncio.Future[Answer]", silent_seconds: float
    ) -> Answer:
        while True:
            heard = connection.heard_bytes
            try:
                async with self._clock.timeout(silent_seconds):
                    return await asyncio.shield(coming)
            except TimeoutError:
                if connection.heard_bytes == heard:
                    raise NoAnswer("no answer in time") from None


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._coming: asyncio.Future[Answer] | None = None
        self._most_bytes = self._status = self._unparsed_bytes = 0
        self._is_framed = self._keeps_alive = False
        self._headers: dict[str, str] = {}
        self._content = bytearray()
        self.idle_since = 0.0
        self.heard_bytes = 0

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    def send(self, request: bytes, most_bytes: int) -> "asyncio.Future[Answer]":
        """Send a request, and return what becomes its answer or NoAnswer."""
        self._begin(most_bytes)
        self._coming = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._coming

    def drop(self) -> None:
        """Close at once, and forget the request."""
        self._coming = None
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if (connection := transport.get_extra_info("socket")) is not None:
            probe_when_quiet(cast("Socket", connection))

    def data_received(self, data: bytes) -> None:
        self.heard_bytes += len(data)
        if self._coming is None:
            self.drop()  # a server that speaks unasked is out of step
            return
        self._unparsed_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"no HTTP: {error}")
            return
        if self._unparsed_bytes > _LONGEST_HEAD_BYTES and self._coming is not None:
            # Of a header, chunk line or trailer without end, which the parser keeps to itself.
            self._fail("a head without end")

    def connection_lost(self, error: Exception | None) -> None:
        if self._status and not self._is_framed and error is None:
            self._keeps_alive = False
            self.on_message_complete()
        else:
            self._fail("the connection broke off")
        # It knows this connection: together they would wait for the collector, which seldom comes.
        del self._parser

    def on_message_begin(self) -> None:
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._status:  # else a trailer
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = status
            self._keeps_alive = self._parser.should_keep_alive()
            framed = {"content-length", "transfer-encoding"} & self._headers.keys()
            self._is_framed = bool(framed) or status in (204, 304)

    def on_body(self, data: bytes) -> None:
        self._unparsed_bytes = 0
        self._content += data
        if len(self._content) > self._most_bytes:
            self._fail(f"answered with more than {self._most_bytes} bytes")

    def on_message_complete(self) -> None:
        coming = self._coming
        if not self._status or coming is None:
            return
        self._coming = None
        if not self._keeps_alive:
            self._transport.close()
        if not coming.done():
            content = bytes(self._content)
            coming.set_result(Answer(status=self._status, headers=self._headers, content=content))

    def _begin(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._status = self._unparsed_bytes = 0
        self._is_framed = self._keeps_alive = False
        self._content = bytearray()

    def _fail(self, why: str) -> None:
        coming = self._coming
        self.drop()
        if coming is not None and not coming.done():
            coming.set_exception(NoAnswer(why))

"""Connections to engines: kept alive for a while, counted, and never shared by two requests."""

import asyncio
import ssl
from typing import Protocol, cast

import httptools

from controlplane.clock import SYSTEM, Clock
from controlplane.keepalive import (
    USER_TIMEOUT_SECONDS,
    Socket,
    bytes_acknowledged,
    end_when_unacknowledged,
    probe_when_quiet,
    silent_seconds,
)
from workers.gateway.choice.health import Health
from workers.gateway.choice.room import Room
from workers.gateway.framing import is_chunked_once
from workers.gateway.headers import Header
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica

_LARGE_BODY_BYTES = 64 * 1024
_LEAST_SHARE = 0.1
_STATUSES = range(100, 600)


class Receiver(Protocol):
    """Who takes an engine's answer: calls come in this order, `answer_failed` at any time.

    Its reason is `unheard` where the engine had closed the connection before the request came.

    Of each read it is told once, with what the read holds of the body, be it nothing.
    """

    def connected(self, connection: "UpstreamConnection") -> None: ...
    def connect_failed(self, reason: str) -> None: ...
    def answer_begins(self, status: int, headers: list[Header]) -> None: ...
    def answer_continues(self, data: bytes) -> None: ...
    def answer_ends(self, data: bytes) -> None: ...
    def answer_failed(self, reason: str, data: bytes) -> None: ...


class Upstream:
    """One replica at run time: its idle connections and the requests on it."""

    __slots__ = (
        "_clock", "_idle", "_stops", "_tls", "address", "authority", "bounds", "cache", "health",
        "in_flight", "least_cached_tokens", "replica", "room", "warms_from",
    )  # fmt: skip

    def __init__(
        self,
        replica: Replica,
        bounds: Bounds,
        *,
        clock: Clock = SYSTEM,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._clock, self._tls = clock, tls
        self.replica, self.address = replica, replica.address
        host = f"[{replica.host}]" if ":" in replica.host else replica.host
        self.authority = f"{host}:{replica.port}".encode()
        self.in_flight, self.bounds = 0, bounds
        self.health, self.room = Health(bounds.eject_seconds, clock), Room(clock)
        self.warms_from: float | None = None
        """Since when it is beside others that were there before, until it has its whole share."""
        self._idle: list[UpstreamConnection] = []
        self._stops, self.cache = 0, self.address
        """Another name of its engine's cache for each time that nobody listened there."""
        self.least_cached_tokens = 0
        """The fewest, but for none, that its engine told of having cached; 0 before it told any."""

    def take_idle(self, now: float) -> "UpstreamConnection | None":
        """Return the connection used last, if the engine cannot have closed it meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            idle_seconds = now - connection.idle_since
            if connection.is_open and idle_seconds < self.bounds.upstream_idle_seconds:
                return connection
            connection.close()
        return None

    def give_back(self, connection: "UpstreamConnection") -> None:
        connection.idle_since = self._clock.monotonic()
        self._idle.append(connection)

    async def connect(self, receiver: Receiver) -> None:
        """Open a connection for `receiver` and tell it how that went."""
        loop = asyncio.get_running_loop()
        try:
            async with self._clock.timeout(self.bounds.connect_seconds):
                _, protocol = await loop.create_connection(
                    lambda: UpstreamConnection(self),
                    self.replica.host,
                    self.replica.port,
                    ssl=self._tls,
                )
        except TimeoutError:
            receiver.connect_failed("connect_timeout")
        except (OSError, OverflowError, ValueError) as error:  # the last two: no address at all
            if isinstance(error, ConnectionRefusedError):
                self._stopped()
            receiver.connect_failed("connect_refused")
        else:
            receiver.connected(protocol)

    def _stopped(self) -> None:
        """Begin with an empty cache: the engine's went with its process."""
        self._stops += 1
        self.cache = f"{self.address}#{self._stops}"

    def load(self, now: float) -> float:
        """Return what is in flight, of one that warms up as if it were that much more."""
        if self.warms_from is None:
            return self.in_flight
        share = (now - self.warms_from) / self.bounds.slow_start_seconds
        if share >= 1:
            self.warms_from = None
            return self.in_flight
        return (self.in_flight + 1) / max(share, _LEAST_SHARE)

    def close_idle(self, older_than: float) -> None:
        keep = []
        for connection in self._idle:
            if connection.idle_since > older_than and connection.is_open:
                keep.append(connection)
            else:
                connection.close()
        self._idle = keep


class UpstreamConnection(asyncio.Protocol):
    __slots__ = (
        "_body", "_bounds", "_ended", "_framed", "_has_body", "_headers", "_keeps_alive",
        "_parser", "_receiver", "_sends_much", "_sent_bytes", "_sent_bytes_before", "_status",
        "_still_bytes", "_transport", "_upstream", "idle_since",
    )  # fmt: skip

    def __init__(self, upstream: Upstream) -> None:
        self._upstream, self._bounds = upstream, upstream.bounds
        self._parser = httptools.HttpResponseParser(self)
        self._receiver: Receiver | None = None
        self._transport: asyncio.Transport
        self._headers: list[Header] = []
        self._body: list[bytes] = []
        self._status = self._still_bytes = self._sent_bytes = self._sent_bytes_before = 0
        self._framed = self._ended = self._keeps_alive = self._sends_much = False
        self._has_body = True
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if (connection := self._socket) is not None:
            probe_when_quiet(connection)
            end_when_unacknowledged(connection, after_seconds=USER_TIMEOUT_SECONDS)

    @property
    def is_dark(self) -> bool:
        """Whether the engine's host has been silent while it should take a large body."""
        connection = self._socket if self._sends_much else None
        return connection is not None and silent_seconds(connection) > USER_TIMEOUT_SECONDS

    def send(self, receiver: Receiver, head: bytes, body: bytes, *, answer_has_body: bool) -> None:
        """Send a request; its answer goes to `receiver`."""
        self._receiver = receiver
        self._has_body = answer_has_body
        self._sent_bytes_before = self._sent_bytes
        self._sent_bytes += len(head) + len(body)
        self._status, self._still_bytes, self._ended = 0, 0, False
        if (sends_much := len(body) >= _LARGE_BODY_BYTES) is not self._sends_much:
            self._expect(much=sends_much)
        self._transport.write(head if sends_much else head + body)
        if sends_much:
            self._transport.write(body)

    def _expect(self, *, much: bool) -> None:
        """Leave an engine time to take a large body, in which its host alone is looked at."""
        self._sends_much = much
        if (connection := self._socket) is not None:
            after_seconds = 0 if much else USER_TIMEOUT_SECONDS
            end_when_unacknowledged(connection, after_seconds=after_seconds)

    @property
    def _socket(self) -> Socket | None:
        return cast("Socket | None", self._transport.get_extra_info("socket"))

    def drop(self) -> None:
        """Forget the request and close at once, so that the engine stops working on it."""
        self._receiver = None
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()

    def pause(self) -> None:
        if self.is_open and self._transport.is_reading():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self.is_open and not self._transport.is_reading():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._receiver is None:
            self.drop()  # an engine that speaks unasked is out of step
            return
        self._still_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail("bad_answer")
            return
        if self._still_bytes > self._bounds.head_bytes and not self._ended:
            # Of a header, chunk line or trailer without end, which the parser keeps to itself.
            self._fail("bad_answer")
        elif self._ended:
            self._finish()
        elif self._receiver is not None:
            body = self._body
            data = body.pop() if len(body) == 1 else self._take_body()
            self._receiver.answer_continues(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._receiver is not None:
            if self._status and not self._framed and error is None:
                self._finish()
            else:
                self._fail("reset" if self._was_received else "unheard")
        # It knows this connection: together they would wait for the collector, which seldom comes.
        del self._parser

    @property
    def _was_received(self) -> bool:
        """Whether any of the request reached a socket that the engine had open."""
        connection = self._socket
        return connection is None or bytes_acknowledged(connection) > self._sent_bytes_before

    def on_message_begin(self) -> None:
        self._headers = []
        if self._ended:
            self._keeps_alive = False  # bytes after the answer: never reuse

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._status:
            return  # a trailer
        self._headers.append((name.lower(), value))
        if len(self._headers) > self._bounds.answer_header_count:
            raise httptools.HttpParserError("too many headers")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status not in _STATUSES:
            raise httptools.HttpParserError("no status of HTTP's")
        if self._ended or self._receiver is None or status < 200:
            return
        self._status = status
        self._keeps_alive = self._has_body and self._parser.should_keep_alive()
        named = dict(self._headers)
        if b"transfer-encoding" in named and not is_chunked_once(self._headers):
            raise httptools.HttpParserError("a coding that is not plain chunks")
        has_length = b"content-length" in named or b"transfer-encoding" in named
        self._framed = has_length or status in (204, 304) or not self._has_body
        # The parser cannot know of HEAD: it would wait for a body that never comes.
        self._ended = not self._has_body
        self._receiver.answer_begins(status, self._headers)

    def on_body(self, data: bytes) -> None:
        self._still_bytes = 0
        if self._receiver is not None and not self._ended:
            self._body.append(data)

    def on_message_complete(self) -> None:
        if self._status:
            self._ended = True

    def _finish(self) -> None:
        """Let go of the connection first: the receiver's next request may take it."""
        receiver, self._receiver = self._receiver, None
        data = self._take_body()
        if self._keeps_alive and self.is_open:
            if not self._transport.is_reading():
                self._transport.resume_reading()
            self._upstream.give_back(self)
        else:
            self.close()
        if receiver is not None:
            receiver.answer_ends(data)

    def _fail(self, reason: str) -> None:
        receiver, data = self._receiver, self._take_body()
        self.drop()
        if receiver is not None:
            receiver.answer_failed(reason, data)

    def _take_body(self) -> bytes:
        body = self._body
        data = body[0] if len(body) == 1 else b"".join(body)
        body.clear()
        return data

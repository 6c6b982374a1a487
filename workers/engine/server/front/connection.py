"""One client's connection: requests in, one at a time, and their answers out in that order."""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from workers.engine.server.front.exchange import Answered, ClientRequest, Handler, Leave

if TYPE_CHECKING:
    from workers.engine.server.front.server import Connections

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_PLAIN = [(b"content-type", b"text/plain; charset=utf-8")]
_NOT_HTTP = Answered(status=400, headers=_PLAIN, body=b"This is no HTTP/1.1 request.")
_NO_TUNNEL = Answered(
    status=405, headers=[*_PLAIN, (b"allow", b"GET, HEAD, POST")],
    body=b"CONNECT asks for a tunnel; this server has none.",
)  # fmt: skip


class Connection(asyncio.Protocol):
    """Reads with httptools; a request that comes before the last one's answer waits."""

    def __init__(self, handler: Handler, connections: "Connections") -> None:
        self._handler = handler
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._waiting: deque[tuple[ClientRequest, bool]] = deque()
        self._leave: Leave | None = None
        self._is_answering = False
        self._goes_on = False
        self._closes = False
        self.idle_since = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether nothing was asked that is not answered, not even in part."""
        return not (self._is_answering or self._waiting or self._target)

    def close(self) -> None:
        """Close, after the answer that is under way."""
        self._closes = True
        if not self._is_answering and self._transport:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.join(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._waiting.clear()
        self._connections.leave(self)
        if self._leave is not None:
            self._leave()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # offered by some with their first request
            if self._parser.get_method() == b"CONNECT":  # which asks for nothing else
                self._end_with(_NO_TUNNEL)
            else:
                self._decline(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._end_with(_NOT_HTTP)

    # What httptools calls.

    def on_message_begin(self) -> None:
        self._target, self._headers, self._body = b"", [], []

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._headers.append((name, value))
        if name == b"expect" and value.lower() == b"100-continue" and self._transport:
            self._transport.write(_CONTINUE)

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Hand the request over, or let it wait for its turn."""
        if self._parser.should_upgrade():
            return  # its body is still to come
        request = ClientRequest(
            method=self._parser.get_method().decode(), target=self._target,
            version=self._parser.get_http_version(), headers=self._headers,
            body=b"".join(self._body),
        )  # fmt: skip
        self._target = b""
        turn = request, self._parser.should_keep_alive()
        if not self._is_answering:
            self._begin(*turn)
            return
        self._waiting.append(turn)
        if self._transport:
            self._transport.pause_reading()

    def _end_with(self, answered: Answered) -> None:
        """Close, with these words where no answer is under way."""
        self._closes = True
        if not self._is_answering and self._transport:
            self._transport.write(answered.written(closes=True, has_body=True))
            self._transport.close()

    def _decline(self, rest: bytes) -> None:
        """Read the request anew, as if it offered no other protocol: the parser stops at one."""
        kept = [each for each in self._headers if each[0] not in (b"upgrade", b"connection")]
        lines = [self._parser.get_method() + b" " + self._target + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in kept]
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([*lines, b"", rest]))

    def _begin(self, request: ClientRequest, keeps_alive: bool) -> None:
        self._is_answering = True
        self._closes = self._closes or not keeps_alive
        has_body = request.method != "HEAD"
        leave = self._handler(request, lambda answered: self._answer(answered, has_body=has_body))
        if self._is_answering:  # else it was answered at once
            self._leave = leave

    def _answer(self, answered: Answered, *, has_body: bool) -> None:
        self._is_answering, self._leave = False, None
        if self._transport is None:
            return
        closes = self._closes or (self._connections.is_closing and not self._waiting)
        self._transport.write(answered.written(closes=closes, has_body=has_body))
        if closes:
            self._transport.close()
        elif not self._waiting:
            self.idle_since = self._connections.now()
            self._transport.resume_reading()
        elif not self._goes_on:
            self._go_on()

    def _go_on(self) -> None:
        """Begin what waits: in a loop, as many may be answered at once."""
        self._goes_on = True
        while self._waiting and not (self._is_answering or self._closes):
            self._begin(*self._waiting.popleft())
        self._goes_on = False

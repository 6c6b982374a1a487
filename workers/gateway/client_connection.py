"""A client's connection: reads requests one after the other and answers them in that order."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from controlplane.clock import SYSTEM, Clock
from workers.gateway import local_answers, refusals
from workers.gateway.body_memory import address_of
from workers.gateway.refusals import Refusal
from workers.gateway.request import Request
from workers.gateway.request_reader import RequestReader
from workers.gateway.seams import Begun, Handler

LINGER_SECONDS = 2.0
FIRST_REQUEST_SECONDS = 1.0
"""Of a connection, while the gateway drains."""
_UNREAD_BODY_BYTES = 1024 * 1024


class ClientConnection(asyncio.Protocol):
    __slots__ = (
        "_backlog", "_clock", "_closes_at", "_exchange", "_handler", "_has_request", "_is_full",
        "_is_pumping", "_last_read_at", "_queue", "_reader", "_transport",
    )  # fmt: skip

    def __init__(self, handler: Handler, *, clock: Clock = SYSTEM) -> None:
        self._handler = handler
        self._clock = clock
        self._reader = RequestReader(handler, self, clock=clock)
        self._transport: asyncio.Transport | None = None
        self._exchange: Begun | None = None
        self._queue: deque[Request] = deque()
        self._backlog = bytearray()
        self._is_pumping = self._is_full = self._has_request = False
        self._last_read_at = self._clock.monotonic()
        self._closes_at: float | None = None

    # What the socket says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(self._handler.bounds.write_buffer_bytes)
        self._reader.address = address_of(transport.get_extra_info("peername"))
        self._handler.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._handler.closed(self)
        for request in (*self._queue, self._reader.request):
            self._handler.release(request)
        self._queue.clear()
        self._backlog.clear()
        if self._exchange is not None:
            exchange, self._exchange = self._exchange, None
            exchange.client_left()
        self._reader.close()

    def data_received(self, data: bytes) -> None:
        if self._closes_at is not None:
            return  # what a refused client still sends is read and forgotten
        self._last_read_at = self._clock.monotonic()
        self._has_request = True
        if self._exchange is None and not self._queue and not self._is_full:
            self._read(data)
        else:
            self._keep_for_later(data)

    def pause_writing(self) -> None:
        self._is_full = True
        if self._exchange is not None:
            self._exchange.client_is_full()

    def resume_writing(self) -> None:
        self._is_full = False
        if self._exchange is not None:
            self._exchange.client_has_room()
        else:
            self._pump()

    # What the request reader says.

    def request_is_complete(self, request: Request) -> None:
        if self._closes_at is None:
            self._queue.append(request)

    def head_is_refused(self, request: Request, refusal: Refusal) -> None:
        """Refuse before the body is here, unless so little is left that reading it is cheaper."""
        left = request.content_length
        if not request.expects_body:
            return
        if self._exchange is not None or self._queue or self._closes_at is not None:
            return
        if left is not None and left <= _UNREAD_BODY_BYTES and not request.expects_continue:
            return
        self._refuse_and_close(request, refusal)

    def may_send_body(self) -> None:
        self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # What the exchange says.

    def write(self, data: bytes) -> None:
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(data)

    def refuse(self, request: Request, refusal: Refusal, request_id: bytes) -> None:
        closes = refusal.closes or not request.keep_alive or self._handler.is_draining
        self.write(local_answers.refusal(request, refusal, request_id=request_id, closes=closes))
        self.answered(keep_alive=not closes)

    def answered(self, *, keep_alive: bool) -> None:
        self._exchange = None
        self._last_read_at = self._clock.monotonic()
        if not keep_alive or self._handler.is_draining:
            self._close()
        else:
            self._pump()

    def goes_on(self, request: Request, begin: Callable[[], Begun | None]) -> None:
        self._exchange = None
        try:
            self._take(begin())
        except Exception as error:
            self._internal_error(request, error)

    def abort(self) -> None:
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    # What the gateway's sweep says.

    def tick(self, now: float) -> None:
        """Once a second: end connections that wait for nothing or send too slowly."""
        bounds = self._handler.bounds
        if self._closes_at is not None:
            if now > self._closes_at:
                self._close()
        elif self._exchange is None and not self._queue:
            if self._reader.is_between_requests:
                if now - self._last_read_at > bounds.keep_alive_seconds:
                    self._close()
            elif (late := self._reader.lateness(now)) is not None:
                self._refuse_and_close(self._reader.request, late)

    def drain(self) -> None:
        """Close now if nothing runs; what runs closes when it is answered."""
        is_idle = self._exchange is None and not self._queue and self._reader.is_between_requests
        if is_idle and not self.is_expected(self._clock.monotonic()):
            self._close()

    def is_expected(self, now: float) -> bool:
        """Whether it was just made: its first request is on the way, and goes nowhere else."""
        return not self._has_request and now - self._last_read_at < FIRST_REQUEST_SECONDS

    # Steps.

    def _read(self, data: bytes) -> None:
        self._reader.feed(data)
        self._pump()

    def _pump(self) -> None:
        """Take requests in order, one at a time; a loop, so that a long queue is no deep stack."""
        if self._is_pumping:
            return
        self._is_pumping = True
        while self._is_free:
            if self._queue:
                self._begin(self._queue.popleft())
            elif self._reader.slip is not None:
                self._internal_error(self._reader.request, self._reader.slip)
            elif self._reader.broken is not None:
                self._refuse_and_close(self._reader.request, self._reader.broken)
            elif self._backlog:
                self._read_backlog()
            else:
                break
        self._is_pumping = False

    @property
    def _is_free(self) -> bool:
        """Whether the next request may begin: a client that takes no answers gets no more."""
        if self._exchange is not None or self._is_full or self._closes_at is not None:
            return False
        transport = self._transport
        return transport is not None and not transport.is_closing()

    def _begin(self, request: Request) -> None:
        try:
            self._answer(request)
        except Exception as error:
            self._internal_error(request, error)

    def _answer(self, request: Request) -> None:
        if request.refusal is not None:
            self._handler.release(request)
            self._handler.refused(request.refusal.status)
            self.refuse(request, request.refusal, self._handler.new_request_id())
        elif request.async_ask is not None:
            self._take(self._handler.begin_async(self, request, request.async_ask))
        elif request.admission is not None:
            self._take(self._handler.begin(self, request))
        elif (answer := self._handler.local_answer(request)) is not None:
            self.write(answer)
            self.answered(keep_alive=request.keep_alive)

    def _take(self, exchange: Begun | None) -> None:
        if exchange is not None:
            self._exchange = exchange
            exchange.start()

    def _keep_for_later(self, data: bytes) -> None:
        """Hold pipelined bytes back; reading goes on, for only a read shows that a client left."""
        self._backlog += data
        if len(self._backlog) > self._handler.bounds.pipelined_bytes and self._transport:
            self._transport.pause_reading()

    def _read_backlog(self) -> None:
        data, self._backlog = bytes(self._backlog), bytearray()
        transport = self._transport
        if transport is not None and not transport.is_closing() and not transport.is_reading():
            transport.resume_reading()
        self._read(data)

    def _internal_error(self, request: Request, error: Exception) -> None:
        id = self._handler.new_request_id()
        self._handler.internal_error(id, error)
        self._refuse_and_close(request, refusals.GATEWAY_FAILED, id)

    def _refuse_and_close(
        self, request: Request, refusal: Refusal, id: bytes | None = None
    ) -> None:
        """Answer, then read on for a moment: closing at once could destroy the answer."""
        if self._transport is None or self._transport.is_closing():
            return
        self._handler.release(request)
        self._handler.refused(refusal.status)
        id = id or self._handler.new_request_id()
        self.write(local_answers.refusal(request, refusal, request_id=id, closes=True))
        self._closes_at = self._clock.monotonic() + LINGER_SECONDS
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

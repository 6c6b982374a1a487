"""Reads requests from bytes with httptools, within bounds, and refuses what is ambiguous."""

from typing import Protocol

import httptools

from controlplane.clock import SYSTEM, Clock
from workers.gateway.framing import ambiguity, is_other_protocol
from workers.gateway.headers import Header
from workers.gateway.known_head import LONGEST_KEPT_BYTES, KnownHead
from workers.gateway.refusals import Refusal, malformed, timed_out, too_large
from workers.gateway.request import Request
from workers.gateway.seams import Handler

_UPGRADE_HEADERS = frozenset({b"upgrade", b"connection", b"http2-settings"})


class RequestSink(Protocol):
    def request_is_complete(self, request: Request) -> None: ...
    def head_is_refused(self, request: Request, refusal: Refusal) -> None: ...
    def may_send_body(self) -> None: ...


class RequestReader:
    """`broken` is why nothing more can be read here; what came before it still counts.

    `slip` is the same where the mistake is ours.
    """

    __slots__ = (
        "_bounds", "_clock", "_earlier", "_handler", "_head_bytes", "_head_is_read", "_known",
        "_parser", "_raw", "_read_ends_another", "_sink", "_started_at", "_step_at", "_step_bytes",
        "_still_bytes", "_upgrades", "address", "broken", "is_between_requests", "request", "slip",
    )  # fmt: skip

    def __init__(self, handler: Handler, sink: RequestSink, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._handler, self._bounds = handler, handler.bounds
        self._sink = sink
        self._parser = httptools.HttpRequestParser(self)
        self._head_bytes = self._still_bytes = 0
        self._head_is_read = self._read_ends_another = self._upgrades = False
        self._started_at = self._step_at = 0.0
        self._step_bytes = 0
        self._raw: bytes | memoryview = b""
        self._earlier = bytearray()
        self._known: KnownHead | None = None
        self.address = ""
        self.broken: Refusal | None = None
        self.slip: Exception | None = None
        self.is_between_requests = True
        self.request = Request()

    def feed(self, data: bytes) -> None:
        rest: bytes | memoryview = data
        while len(rest) and self.broken is None and self.slip is None:
            rest = self._feed(rest)

    def _feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """Return what is to be read anew, after an offer of another protocol."""
        self._still_bytes += len(data)
        self._raw, self._read_ends_another = data, False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._without_upgrade(memoryview(data)[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self.slip = cause if isinstance(cause, Exception) else error
        except httptools.HttpParserError as error:
            self.broken = self.broken or malformed(f"This is not a valid HTTP request: {error}.")
        if not self.is_between_requests:
            self._check_unseen(data)
        self._raw = b""
        return b""

    def close(self) -> None:
        """Let go of what was read, and of who is told: both know this reader.

        Else all three would wait for the collector, which seldom comes.
        """
        del self._parser, self._sink
        self.request = Request()
        self._earlier.clear()

    def lateness(self, now: float) -> Refusal | None:
        """Return why a request that is only partly here is given up, or None."""
        bounds = self._bounds
        if not self._head_is_read and now - self._started_at > bounds.head_seconds:
            words = f"The request's head did not arrive within {bounds.head_seconds:g} s."
        elif self._head_is_read and self._body_stands_still(now):
            least, seconds = bounds.body_step_bytes, bounds.body_step_seconds
            words = f"Less than {least} bytes of the request's body arrived in {seconds:g} s."
        elif now - self._started_at > bounds.total_seconds:
            words = f"The request did not arrive within {bounds.total_seconds:g} s."
        else:
            return None
        return timed_out(words, status=408)

    def _body_stands_still(self, now: float) -> bool:
        """Whether no step is done in its time: single bytes would hold memory for ever."""
        bounds, body_bytes = self._bounds, self.request.body_bytes
        if body_bytes - self._step_bytes >= bounds.body_step_bytes:
            self._step_bytes, self._step_at = body_bytes, now
        return now - self._step_at > bounds.body_step_seconds

    # What httptools says.

    def on_message_begin(self) -> None:
        if not self.is_between_requests:  # it is read again
            self.request = Request()
        self.request.address = self.address
        self._earlier.clear()
        self._head_bytes = self._still_bytes = 0
        self._head_is_read = False
        self.is_between_requests = False
        self._started_at = self._clock.monotonic()

    def on_url(self, url: bytes) -> None:
        self.request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_is_read:
            return  # a trailer: what was decided by the head stands
        headers = self.request.headers
        if len(headers) > self._bounds.header_count:
            return  # it is refused, however many more there are
        headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_is_read = True
        self._step_bytes, self._step_at = 0, self._started_at
        request, parser = self.request, self._parser
        request.method = parser.get_method()
        version = parser.get_http_version()
        request.http_10 = version == "1.0"
        request.keep_alive = parser.should_keep_alive()
        self._upgrades = parser.should_upgrade()
        if self._upgrades:
            return  # it is read again without the offer
        _name_headers(request)
        self._check_head()
        if request.refusal is not None or not self._is_known(request, version):
            self._read_anew(request, version)
        if request.refusal is None:
            self._check_declared_length(request)
        if request.refusal is None:
            self._handler.admit(request)
        if request.refusal is not None:
            self._sink.head_is_refused(request, request.refusal)
        elif request.expects_continue and request.expects_body:
            self._sink.may_send_body()

    def on_body(self, data: bytes) -> None:
        request = self.request
        self._still_bytes = 0
        request.body_bytes += len(data)
        if request.refusal is not None:
            return
        if request.body_bytes > self._bounds.body_bytes:
            self._refuse_body(_too_long(self._bounds.body_bytes))
        elif (refusal := self._handler.reserve(request)) is not None:
            self._refuse_body(refusal)
        else:
            request.body.append(data)

    def on_message_complete(self) -> None:
        if self._upgrades or self.broken is not None:
            return
        request, self.request = self.request, Request()
        self.is_between_requests = self._read_ends_another = True
        self._sink.request_is_complete(request)

    # Steps.

    def _is_known(self, request: Request, version: str) -> bool:
        return self._known is not None and self._known.tells(request, version)

    def _read_anew(self, request: Request, version: str) -> None:
        _read_headers(request)
        self._check_framing(request, version)
        self._split_url(request)
        self._known = None
        if request.refusal is None:
            request.known = KnownHead(request, version)
            if request.known.size_bytes <= LONGEST_KEPT_BYTES:
                self._known = request.known

    def _check_unseen(self, data: bytes | memoryview) -> None:
        """Bound what the parser keeps to itself: an unfinished header, chunk line or trailer."""
        limit = self._bounds.head_bytes
        if not self._head_is_read:
            self._earlier += data[-limit:]
            if not self._read_ends_another:  # where in the read the head begins is not known
                self._head_bytes += len(data)
            self._check_head()
        elif self._still_bytes > limit:
            words = f"The body's chunk lines or trailers hold more than {limit} bytes."
            self.broken = self.request.refusal = too_large(words, status=431)

    def _refuse_body(self, refusal: Refusal) -> None:
        self.request.refusal = refusal
        self.request.body.clear()
        self._handler.release(self.request)
        # However little is left of it, nobody waits for the rest.
        self.request.content_length, self.request.chunked = None, True
        self._sink.head_is_refused(self.request, refusal)

    def _check_head(self) -> None:
        bounds = self._bounds
        if self._head_is_read and (self._head_bytes or len(self._raw) > bounds.head_bytes):
            # Of more than one read, or one larger than a head may be: else it has room in it.
            headers = self.request.headers
            self._head_bytes += len(self.request.url) + sum(len(n) + len(v) for n, v in headers)
        if self._head_bytes > bounds.head_bytes or len(self.request.headers) > bounds.header_count:
            words = f"The head holds more than {bounds.head_bytes} bytes or {bounds.header_count}"
            self.broken = too_large(f"{words} headers.", status=431)
            self.request.refusal = self.broken

    def _check_framing(self, request: Request, version: str) -> None:
        refusal = ambiguity(request, version)
        if request.http_10 and is_other_protocol(bytes(self._earlier) + bytes(self._raw)):
            refusal = malformed("This is not HTTP. Send HTTP/1.1.")
        self._earlier.clear()
        if refusal is not None:
            self.broken = request.refusal = self.broken or refusal

    def _check_declared_length(self, request: Request) -> None:
        limit = self._bounds.body_bytes
        if request.content_length is not None and request.content_length > limit:
            request.refusal = _too_long(limit)

    def _split_url(self, request: Request) -> None:
        if request.refusal is not None:
            return
        try:
            parts = httptools.parse_url(request.url)
            request.path = (parts.path or b"/").decode("ascii")
            request.query = parts.query or b""
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError):
            request.refusal = malformed("The request's URL cannot be read.")

    def _without_upgrade(self, rest: memoryview) -> memoryview:
        """Read the head again as if it had not offered another protocol; return what follows it.

        A server may ignore `Upgrade` (RFC 9110, 7.8); the parser would skip the body otherwise.
        """
        request = self.request
        if request.method == b"CONNECT":  # the parser would say the same of it for ever
            self.broken = malformed("`CONNECT` asks for a tunnel, and the gateway makes none.")
            return rest
        self._parser = httptools.HttpRequestParser(self)
        version = b"1.0" if request.http_10 else b"1.1"
        lines = [b"%b %b HTTP/%b" % (request.method, request.url, version)]
        lines += [_line(header) for header in request.headers if header[0] not in _UPGRADE_HEADERS]
        self._feed(b"\r\n".join(lines) + b"\r\n\r\n")
        return rest


def _name_headers(request: Request) -> None:
    named = request.named = dict(request.headers)
    if (length := named.pop(b"content-length", None)) is not None:
        request.content_length = int(length)


def _read_headers(request: Request) -> None:
    named = request.named
    request.authorization = named.get(b"authorization")
    request.connection = named.get(b"connection", b"")
    request.chunked = b"transfer-encoding" in named
    request.expects_continue = named.get(b"expect", b"").lower() == b"100-continue"


def _line(header: Header) -> bytes:
    return b"%b: %b" % header


def _too_long(limit: int) -> Refusal:
    return too_large(f"The body is larger than {limit // 1_000_000} MB.")

"""An engine's answer as the client's connection needs it: framing, errors, metering."""

import json

from controlplane.domain.wire import error_type
from workers.gateway.event_stream import EventFilter
from workers.gateway.headers import Header, response_head
from workers.gateway.refusals import Refusal, event
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared
from workers.gateway.responses.stream import ResponseEvents
from workers.gateway.responses.whole import WholeResponse
from workers.gateway.usage import COMPUTED_TOKENS, TokenCounts, counted_by_header
from workers.gateway.usage_search import UsageSearch, find_usage

CLIENT_LEFT_STATUS = 499
_LONGEST_ERROR_BYTES = 64 * 1024
_LAST_CHUNK = b"0\r\n\r\n"
_UNBUFFERED = (b"cache-control: no-cache", b"x-accel-buffering: no")
_CACHING = frozenset({b"cache-control", b"x-accel-buffering"})


class Reply:
    """Feed it the answer in order; it returns what is ready for the client."""

    __slots__ = (
        "_chunked",
        "_closes",
        "_counts",
        "_error",
        "_events",
        "_first_piece",
        "_headers",
        "_http_10",
        "_pending",
        "_request_id",
        "_response",
        "_response_events",
        "_search",
        "has_body",
        "status",
    )  # fmt: skip

    def __init__(
        self,
        status: int,
        headers: list[Header],
        request: Request,
        admission: Admission,
        prepared: Prepared,
        request_id: bytes,
        closes: bool,
    ) -> None:
        named = dict(headers)
        self.status = status
        self.has_body = request.method != b"HEAD" and status not in (204, 304)
        self._request_id, self._http_10, self._closes = request_id, request.http_10, closes
        self._headers = headers
        self._pending = b""
        self._first_piece = b""
        self._search: UsageSearch | None = None
        self._counts = counted_by_header(named.get(COMPUTED_TOKENS))
        streams = named.get(b"content-type", b"").startswith(b"text/event-stream")
        self._events = EventFilter(hides_usage=prepared.hides_usage) if streams else None
        parameters = prepared.response_parameters
        is_response = parameters is not None and status < 400 and self.has_body
        self._response = (
            WholeResponse(parameters) if parameters and is_response and not streams else None
        )
        self._response_events = ResponseEvents(parameters) if parameters and streams else None
        fails = status >= 400 and self.has_body and not streams
        translates = fails and admission.route.startswith("/v1/")
        self._error = bytearray() if translates else None
        self._chunked = False
        if self._error is None and self._response is None:
            self._begin(None if streams else named.get(b"content-length"))

    @property
    def closes(self) -> bool:
        return self._closes

    @property
    def streams(self) -> bool:
        return self._events is not None

    @property
    def counts(self) -> TokenCounts | None:
        if self._events is not None:
            return self._events.counts
        return self._counts

    @property
    def is_done(self) -> bool:
        """Whether an event stream has said that it is done: nothing of worth follows."""
        return self._events is not None and self._events.done

    @property
    def was_cut(self) -> bool:
        """Whether an event stream that closed by itself has not said that it is done."""
        return self._events is not None and not self._events.done

    def feed(self, data: bytes) -> bytes:
        """Return what may go to the client now. Raises EndlessEvent."""
        if self._events is not None:
            # Of every chunk, a call more is a good part of the cost.
            data = self._events.feed(data)
            if self._response_events is not None:
                data = self._response_events.feed(data)
            if not data:
                return b""  # a head alone waits: without it another engine can still be asked
            if self._chunked and not self._pending:
                return b"%x\r\n%b\r\n" % (len(data), data)
        elif self._error is not None:
            return self._feed_error(data)
        elif self._response is not None:
            self._response.feed(data)
            return b""
        else:
            self._look_for_usage(data)
        return self._framed(data)

    def hold(self, data: bytes) -> None:
        """Take what is returned with whatever comes next. Raises EndlessEvent."""
        if data:
            self._pending = self.feed(data)

    def end(self) -> bytes:
        if self._error is not None:
            last = self._answer_anew(_openai_error(bytes(self._error), self.status))
        elif self._response is not None:
            self._counts = find_usage(bytes(self._response.chat))
            last = self._answer_anew(self._response.end())
        elif self._events is not None:
            last = self._framed(self._events_for_client(self._events.finish()))
        else:
            if self._counts is None:
                search = self._search
                self._counts = search.counts if search else find_usage(self._first_piece)
            last = self._framed(b"")
        return last + _LAST_CHUNK if self._chunked else last

    def break_off(self, refusal: Refusal) -> bytes:
        """Return the error event that ends a broken answer, or nothing if it cannot carry one."""
        if self._events is None:
            return b""
        self._events.finish()  # half an event would swallow ours
        last = self._framed(event(refusal))
        return last + _LAST_CHUNK if self._chunked else last

    def _begin(self, length: bytes | None) -> None:
        ours: list[bytes] = []
        headers = self._headers
        if self._events is not None:
            headers = [header for header in headers if header[0] not in _CACHING]
            ours += _UNBUFFERED
        if length is not None:
            ours.append(b"content-length: " + length)
        elif self.has_body and self._http_10:
            self._closes = True
        elif self.has_body:
            self._chunked = True
            ours.append(b"transfer-encoding: chunked")
        if self._closes:
            ours.append(b"connection: close")
        elif self._http_10:
            ours.append(b"connection: keep-alive")
        self._pending = response_head(
            status=self.status,
            headers=headers,
            named_by_connection=_connection(self._headers),
            ours=ours,
            request_id=self._request_id,
        )

    def _look_for_usage(self, data: bytes) -> None:
        if self._counts is not None:
            return  # the head has said it, and an answer of vectors is long
        if self._search is not None:
            self._search.feed(data)
        elif self._first_piece:
            self._search = UsageSearch()
            self._search.feed(self._first_piece)
            self._search.feed(data)
            self._first_piece = b""
        else:
            self._first_piece = data  # most answers are one read, which needs no state

    def _framed(self, data: bytes) -> bytes:
        if self._chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._pending:
            data, self._pending = self._pending + data, b""
        return data

    def _feed_error(self, data: bytes) -> bytes:
        error = self._error
        if error is None:
            return b""
        error += data
        if len(error) <= _LONGEST_ERROR_BYTES:
            return b""
        self._error = None
        self._begin(dict(self._headers).get(b"content-length"))
        return self._framed(bytes(error))

    def _events_for_client(self, events: bytes) -> bytes:
        return events if self._response_events is None else self._response_events.feed(events)

    def _answer_anew(self, content: bytes) -> bytes:
        self._headers = [header for header in self._headers if header[0] != b"content-type"]
        self._headers.append((b"content-type", b"application/json"))
        self._begin(b"%d" % len(content))
        return self._framed(content)


def status_of_leaving(reply: Reply | None, *, took_all: bool) -> int:
    """Return how a request counts whose client closed: OpenAI's SDK does so at the end marker."""
    if reply is not None and reply.is_done and took_all:
        return reply.status
    return CLIENT_LEFT_STATUS


def _connection(headers: list[Header]) -> bytes:
    for name, value in headers:
        if name == b"connection":
            return value
    return b""


def _openai_error(content: bytes, status: int) -> bytes:
    """Return an engine's error as OpenAI clients read it, whatever the engine's own shape is.

    TensorRT-LLM sends a flat object, or `{"error": "<text>"}`; proxies and crashes send text.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = content.decode("utf-8", "replace").strip()
    if isinstance(data, dict) and isinstance(data.get("error"), dict):
        return content
    return json.dumps({"error": _translated(data, status)}).encode()


def _translated(data: object, status: int) -> dict[str, object]:
    flat = data if isinstance(data, dict) else {}
    text = flat.get("message") or flat.get("error") or flat.get("detail") or data
    message = text if isinstance(text, str) else json.dumps(text)
    return {
        "message": message or f"The engine answered {status} without a word.",
        "type": error_type(status),
        "code": _code(message, flat.get("code")),
        "param": flat.get("param"),
    }


def _code(message: str, code: object) -> object:
    words = message.lower()
    if "maximum context length" in words or "max_seq_len" in words or "prompt length" in words:
        return "context_length_exceeded"
    return code if isinstance(code, str) else None

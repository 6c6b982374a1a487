"""Logs as server-sent events, followed without holding a database connection while nothing comes.

The id of an event is the cursor of its last line: a browser whose connection broke goes on behind
the last line that it has (`Last-Event-ID`).
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.events import encode_event

LINES_PER_LOOK = 1_000
LOOK_SECONDS = 1.0
BEAT_SECONDS = 15.0
STREAM_SECONDS = 300.0
"""How long one answer lasts; who is signed out by then gets no further one."""
_MEDIA_TYPE = "text/event-stream"
_COME_BACK = b"retry: 1000\n\n"
_ASK_AGAIN = b"retry: 2000\n\n"
_BEAT = encode_event("", event="beat")
_END = encode_event("", event="end")


@dataclass(frozen=True, kw_only=True)
class LogLook:
    """What came after a cursor; `is_over` where nothing more will come."""

    rows: Sequence[Mapping[str, Any]]
    """Each with `text`, `level` and `step`, the part of the log that it belongs to."""
    cursor: int | None
    is_over: bool
    attempt: int = 1

    @property
    def has_more(self) -> bool:
        """Whether it was cut at the most that one look returns."""
        return len(self.rows) >= LINES_PER_LOOK

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": list(self.rows),
            "cursor": None if self.cursor is None else str(self.cursor),
            "has_more": self.has_more,
            "attempt": self.attempt,
        }


Look = Callable[[int | None], LogLook]
"""Returns what came after a cursor, from the beginning for None."""


def wants_events(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith(_MEDIA_TYPE)


def cursor_in(request: HttpRequest) -> int | None:
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    return int(cursor) if cursor.isdecimal() and len(cursor) < 19 else None


def log_events(request: HttpRequest, look: Look, *, clock: Clock = SYSTEM) -> HttpResponseBase:
    """Return the log as events, each line as it comes.

    A server without streaming, and `?once`, answer with what is there; the browser asks again.
    """
    after = cursor_in(request)
    answer: HttpResponseBase
    if isinstance(request, ASGIRequest) and "once" not in request.GET:
        answer = StreamingHttpResponse(_Follower(look=look, after=after, clock=clock).events())
    else:
        answer = HttpResponse(b"".join(_once(look, after)))
    answer["Content-Type"] = _MEDIA_TYPE
    answer["Cache-Control"] = "no-store"
    answer["X-Accel-Buffering"] = "no"  # nginx would keep lines back
    return answer


@dataclass(kw_only=True)
class _Follower:
    look: Look
    after: int | None
    clock: Clock
    beats_at: float = 0.0

    async def events(self) -> AsyncIterator[bytes]:
        yield _COME_BACK
        ends_at = self.clock.monotonic() + STREAM_SECONDS
        was_over = False
        # In the request's own thread: its connection is the one that goes back to the pool.
        read = sync_to_async(self._read)
        while self.clock.monotonic() < ends_at and (look := await read()) is not None:
            if look.rows:
                self.after = look.cursor
                yield _lines(look)
            if look.has_more:
                continue
            # The last lines of a log may be stored a moment after its owner has ended.
            if look.is_over and was_over:
                yield _END
                return
            was_over = look.is_over
            if self.clock.monotonic() >= self.beats_at:
                self.beats_at = self.clock.monotonic() + BEAT_SECONDS
                yield _BEAT
            await self.clock.pause(LOOK_SECONDS)

    def _read(self) -> LogLook | None:
        """Return what is new, or None while the database is away: the browser comes back."""
        try:
            return self.look(self.after)
        except DatabaseError:
            return None
        finally:
            connection.close()


def _once(look: Look, after: int | None) -> Iterator[bytes]:
    yield _ASK_AGAIN
    while (lines := look(after)).rows:
        after = lines.cursor
        yield _lines(lines)
    yield _END if lines.is_over else _BEAT


def _lines(look: LogLook) -> bytes:
    payload = {"attempt": look.attempt, "lines": list(look.rows)}
    return encode_event(payload, event="lines", event_id=str(look.cursor))

"""Spans of a request: how long it waited for a row, read its prompt, and wrote its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from controlplane.clock import SYSTEM, Clock
from controlplane.traces.spans import Parent, Span, SpanKind, new_span_id, parent_in
from workers.engine.generation import Progress
from workers.engine.sequence import Sequence as Row

_LEFT = "ended before its last token"


class Sink(Protocol):
    """Where spans go; it never waits."""

    def add(self, *spans: Span) -> None: ...


class Traces:
    """Tells of each request whose gateway asks for it."""

    def __init__(self, sink: Sink, *, clock: Clock = SYSTEM) -> None:
        self._sink = sink
        self._clock = clock

    def begin(self, traceparent: str | None, route: str) -> "RequestSpans | None":
        """Return what tells of this request, or None where nobody traces it."""
        parent = parent_in(traceparent) if traceparent else None
        if parent is None or not parent.is_sampled:
            return None
        return RequestSpans(parent, self._sink, route, self._clock)


@dataclass(slots=True)
class _RowTimes:
    """What a row has told so far, and when."""

    first_at: float | None = None
    ended_at: float | None = None
    failure: str = ""
    completion_tokens: int = 0


class RequestSpans:
    """Of one request: a span of its own, and three below it for each of its answers."""

    def __init__(self, parent: Parent, sink: Sink, route: str, clock: Clock) -> None:
        self._parent, self._sink, self._route, self._clock = parent, sink, route, clock
        self._id = new_span_id()
        self._began_at = clock.monotonic()
        self._times: dict[int, _RowTimes] = {}
        self._has_ended = False

    def piece(self, index: int, piece: Progress) -> None:
        """Note when an answer began and ended. The model thread calls it."""
        now, times = self._clock.monotonic(), self._times.setdefault(index, _RowTimes())
        times.first_at = now if times.first_at is None else times.first_at
        times.completion_tokens = piece.completion_tokens
        if piece.is_last:
            times.ended_at, times.failure = now, piece.failure or ""

    def ended(self, rows: Sequence[Row]) -> None:
        """Export the spans, once."""
        if self._has_ended:
            return
        self._has_ended = True
        epoch = self._clock.time() - (now := self._clock.monotonic())
        by_row = [self._times.get(index, _RowTimes()) for index in range(len(rows))]
        errors = [each.failure or ("" if each.ended_at is not None else _LEFT) for each in by_row]
        counts: dict[str, str | int] = {
            "url.path": self._route,
            "gen_ai.usage.input_tokens": sum(len(each.generation.prompt) for each in rows),
            "gen_ai.usage.output_tokens": sum(each.completion_tokens for each in by_row),
        }
        error = next(filter(None, errors), "" if rows else "refused")
        times = (self._began_at, now)
        spans = [self._span("engine", times, epoch, counts, error=error, id=self._id)]
        for index, (row, of_row) in enumerate(zip(rows, by_row, strict=True)):
            spans += self._of_row(index, row, of_row, now, epoch)
        self._sink.add(*spans)

    def _of_row(
        self, index: int, row: Row, times: _RowTimes, now: float, epoch: float
    ) -> list[Span]:
        ended = now if times.ended_at is None else times.ended_at
        admitted = ended if row.admitted_at is None else row.admitted_at
        parts: list[tuple[str, float, float, dict[str, int]]] = [
            ("queue", row.arrived_at, admitted, {})
        ]
        if row.admitted_at is not None:
            read = {"gen_ai.usage.input_tokens": len(row.generation.prompt),
                    "enginehouse.cached_tokens": row.cached_tokens}  # fmt: skip
            parts.append(("prefill", admitted, times.first_at or ended, read))
        if times.first_at is not None:
            written = {"gen_ai.usage.output_tokens": times.completion_tokens}
            parts.append(("decode", times.first_at, ended, written))
        return [
            self._span(name, (began, ended_at), epoch, {"enginehouse.choice": index} | more)
            for name, began, ended_at, more in parts
        ]

    def _span(
        self,
        name: str,
        times: tuple[float, float],
        epoch: float,
        attributes: Mapping[str, str | int],
        *,
        error: str = "",
        id: str = "",
    ) -> Span:
        return Span(
            name=name, trace_id=self._parent.trace_id, span_id=id or new_span_id(),
            parent_id=self._parent.span_id if id else self._id,
            kind=SpanKind.SERVER if id else SpanKind.INTERNAL,
            began_at=epoch + times[0], ended_at=epoch + times[1],
            attributes=attributes, error=error,
        )  # fmt: skip

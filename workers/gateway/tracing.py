"""Spans of a request: what the client asked, how long it queued, and what the replica took."""

import random
from dataclasses import dataclass
from typing import Protocol

from controlplane.clock import SYSTEM, Clock
from controlplane.traces.spans import (
    Span,
    SpanKind,
    new_span_id,
    new_trace_id,
    parent_in,
    traceparent_of,
)
from workers.gateway.meter import Meter
from workers.gateway.request import Admission, Request
from workers.gateway.usage import TokenCounts

_FIRST_SERVER_ERROR = 500


class Spans(Protocol):
    """Where spans go; it never waits."""

    dropped: int

    def add(self, *spans: Span) -> None: ...


@dataclass(frozen=True, slots=True)
class Trace:
    trace_id: str
    parent_id: str | None
    span_id: str
    upstream_id: str
    """The span that the engine's own are below."""
    method: str
    path: str

    @property
    def traceparent(self) -> bytes:
        return traceparent_of(self.trace_id, self.upstream_id).encode()


class Tracing:
    """A client that traces decides for itself; of the others, a share is traced."""

    def __init__(self, spans: Spans, *, share: float = 1.0, clock: Clock = SYSTEM) -> None:
        self._spans = spans
        self._share = share
        self._clock = clock

    @property
    def dropped(self) -> int:
        return self._spans.dropped

    def begin(self, request: Request) -> Trace | None:
        parents = [value for name, value in request.headers if name == b"traceparent"]
        parent = parent_in(parents[0].decode("latin-1")) if len(parents) == 1 else None
        if parent is None and random.random() >= self._share:  # nosec B311 (which are looked at)
            return None
        if parent is not None and not parent.is_sampled:
            return None
        return Trace(
            parent.trace_id if parent else new_trace_id(),
            parent.span_id if parent else None,
            new_span_id(),
            new_span_id(),
            request.method.decode("latin-1"),
            request.path,
        )

    def ended(
        self,
        trace: Trace,
        meter: Meter,
        admission: Admission,
        replica_id: str | None,
        counts: TokenCounts | None,
        now: float,
    ) -> None:
        """Export the spans of a request that has ended; `now` is by the clock that measures."""
        epoch = self._clock.time() - now
        asked_at, first = meter.asked_at, meter.first_byte_at
        status = meter.status or 0
        error = f"answered {status}" if status >= _FIRST_SERVER_ERROR else ""
        at = (trace.trace_id, trace.span_id, epoch)
        spans = [_whole(trace, meter, admission, counts, error, epoch, epoch + now)]
        spans.append(_part(at, "queue", new_span_id(), meter.started_at, asked_at or now))
        if asked_at is not None:
            attributes = {"enginehouse.replica_choice": meter.choice}
            if replica_id is not None:
                attributes["enginehouse.replica_id"] = replica_id
            events = {} if first is None else {"first byte": epoch + first}
            spans.append(
                _part(at, "upstream", trace.upstream_id, asked_at, now,
                      kind=SpanKind.CLIENT, attributes=attributes, events=events, error=error)
            )  # fmt: skip
        self._spans.add(*spans)


def _whole(
    trace: Trace,
    meter: Meter,
    admission: Admission,
    counts: TokenCounts | None,
    error: str,
    epoch: float,
    ended_at: float,
) -> Span:
    attributes: dict[str, str | int] = {
        "http.request.method": trace.method,
        "url.path": trace.path,
        "http.response.status_code": meter.status or 0,
        "enginehouse.request_id": meter.request_id.decode(),
        "enginehouse.model_id": admission.deployment.model_id,
        "enginehouse.deployment_id": admission.deployment.id,
        "enginehouse.environment": admission.environment or "",
    }
    if counts is not None:
        attributes["gen_ai.usage.input_tokens"] = counts.prompt
        attributes["gen_ai.usage.output_tokens"] = counts.completion
    return Span(
        name=f"{trace.method} {admission.route}", trace_id=trace.trace_id, span_id=trace.span_id,
        parent_id=trace.parent_id, kind=SpanKind.SERVER, began_at=epoch + meter.started_at,
        ended_at=ended_at, attributes=attributes, error=error,
    )  # fmt: skip


def _part(
    at: tuple[str, str, float],
    name: str,
    span_id: str,
    began: float,
    ended: float,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: dict[str, str] | None = None,
    events: dict[str, float] | None = None,
    error: str = "",
) -> Span:
    trace_id, parent_id, epoch = at
    return Span(
        name=name, trace_id=trace_id, span_id=span_id, parent_id=parent_id, kind=kind,
        began_at=epoch + began, ended_at=epoch + ended, attributes=attributes or {},
        events=events or {}, error=error,
    )  # fmt: skip

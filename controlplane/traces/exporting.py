"""Spans on their way to a collector, by OTLP over HTTP, from a thread that nobody waits for."""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from controlplane.domain.wire.otlp import traces_endpoint
from controlplane.process_settings.wrong import WrongSetting
from controlplane.traces.spans import Span
from controlplane.version import product_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

MOST_SPANS = 4096
"""That wait: what comes while so many do is dropped, and counted."""
_BATCH_SPANS = 512
_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_NANOSECONDS = 1_000_000_000
_log = logging.getLogger(__name__)


class Exporter:
    """`add` never waits and never fails; `close` hands over what is left, for a while."""

    def __init__(self, url: str, service: str, instance: str) -> None:
        """Raises WrongSetting where OpenTelemetry is not installed."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise WrongSetting(
                "TRACES_URL is set, and OpenTelemetry is not installed here. Install "
                "`enginehouse[traces]`, or leave TRACES_URL out."
            ) from None
        self._exporter = OTLPSpanExporter(endpoint=traces_endpoint(url), timeout=_ANSWER_SECONDS)
        named = {"service.name": service, "service.instance.id": instance}
        self._resource = Resource({**named, "service.version": product_version()})
        self._waiting: deque[Span] = deque()
        self._is_closing = threading.Event()
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name="traces", daemon=True)
        self._thread.start()

    def add(self, *spans: Span) -> None:
        """Take spans along, or drop them where too many wait."""
        if len(self._waiting) + len(spans) > MOST_SPANS:
            self.dropped += len(spans)
        else:
            self._waiting.extend(spans)

    def close(self, seconds: float = _ANSWER_SECONDS) -> None:
        """Hand over what waits; what a collector does not take in that time is gone."""
        self._is_closing.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._is_closing.wait(_PAUSE_SECONDS)
            while spans := [self._waiting.popleft() for _ in range(self._next())]:
                self._send(spans)

    def _next(self) -> int:
        return min(_BATCH_SPANS, len(self._waiting))

    def _send(self, spans: Sequence[Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        try:
            result = self._exporter.export([self._readable(each) for each in spans])
        except Exception as error:  # whatever the collector or the library does, serving goes on
            _log.warning("spans are dropped: %s", type(error).__name__)
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS:
            self.dropped += len(spans)

    def _readable(self, span: Span) -> "ReadableSpan":
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        def context(span_id: str) -> SpanContext:
            sampled = TraceFlags(TraceFlags.SAMPLED)
            return SpanContext(int(span.trace_id, 16), int(span_id, 16), False, sampled)

        return ReadableSpan(
            name=span.name,
            context=context(span.span_id),
            parent=context(span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            events=[Event(name, timestamp=_nanoseconds(at)) for name, at in span.events.items()],
            kind=SpanKind[span.kind],
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=_nanoseconds(span.began_at),
            end_time=_nanoseconds(span.ended_at),
        )


def _nanoseconds(at: float) -> int:
    return int(at * _NANOSECONDS)

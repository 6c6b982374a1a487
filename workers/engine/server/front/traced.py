"""Requests of the front with the span that a gateway asks for."""

from collections.abc import Iterable

from controlplane.clock import SYSTEM, Clock
from controlplane.traces.spans import Parent, Span, SpanKind, new_span_id, parent_in
from workers.engine.server.front.exchange import Answer, Answered, ClientRequest, Handler, Leave
from workers.engine.server.spans import Sink

_FIRST_SERVER_ERROR = 500


class Traced:
    """Hands each request on; of one that is traced it tells how long its answer took."""

    def __init__(self, handler: Handler, sink: Sink, *, clock: Clock = SYSTEM) -> None:
        self._handler, self._sink, self._clock = handler, sink, clock

    def __call__(self, request: ClientRequest, answer: Answer) -> Leave:
        parent = _parent(request.headers)
        if parent is None:
            return self._handler(request, answer)
        return self._followed(request, answer, parent)

    def _followed(self, request: ClientRequest, answer: Answer, parent: Parent) -> Leave:
        began, is_told = self._clock.monotonic(), False

        def tell(status: int, error: str) -> None:
            nonlocal is_told
            if not is_told:
                is_told = True
                self._sink.add(self._span(request, parent, began, status, error))

        def answered(answer_head: Answered) -> None:
            failed = answer_head.status >= _FIRST_SERVER_ERROR
            tell(answer_head.status, f"answered {answer_head.status}" if failed else "")
            answer(answer_head)

        leave = self._handler(request, answered)

        def left() -> None:
            tell(0, "ended before its answer")
            leave()

        return left

    def _span(
        self, request: ClientRequest, parent: Parent, began: float, status: int, error: str
    ) -> Span:
        now, path = self._clock.time(), request.target.partition(b"?")[0].decode("latin-1")
        return Span(
            name="engine", trace_id=parent.trace_id, span_id=new_span_id(),
            parent_id=parent.span_id, kind=SpanKind.SERVER,
            began_at=now - (self._clock.monotonic() - began), ended_at=now,
            attributes={"url.path": path, "http.response.status_code": status}, error=error,
        )  # fmt: skip


def _parent(headers: Iterable[tuple[bytes, bytes]]) -> Parent | None:
    values = [value for name, value in headers if name == b"traceparent"]
    parent = parent_in(values[0].decode("latin-1")) if len(values) == 1 else None
    return parent if parent is not None and parent.is_sampled else None

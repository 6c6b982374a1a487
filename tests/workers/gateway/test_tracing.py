"""A request's spans: below the client's, with the engine's below the gateway's."""

import httpx
import pytest

from controlplane.traces.spans import Span, SpanKind
from tests.waiting import wait_for
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.tracing import Tracing

TRACE, SPAN = "a" * 32, "b" * 16


class Kept:
    """Keeps spans as an exporter would take them."""

    def __init__(self) -> None:
        self.told: list[Span] = []
        self.dropped = 0

    def add(self, *spans: Span) -> None:
        self.told += spans


def traced(house: House, script, *, share: float = 1.0):
    spans, engine = Kept(), house.engine(script)
    house.publish(engine)
    gateway = house.gateway()
    gateway.inner.tracing = Tracing(spans, share=share, clock=house.clock)
    return gateway, engine, spans


def test_the_spans_of_a_request_lie_below_the_clients_and_above_the_engines(
    house: House, http: httpx.Client
) -> None:
    def slow(call: Call) -> None:
        house.clock.advance(2.5)
        answers(call)

    gateway, engine, spans = traced(house, slow)
    began = house.clock.time()
    sent = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
    answer = http.post(gateway.url + CHAT, json={}, headers=sent)
    wait_for(lambda: spans.told, what="spans")

    whole, queue, upstream = spans.told
    assert {each.trace_id for each in spans.told} == {TRACE}
    assert (whole.parent_id, queue.parent_id, upstream.parent_id) == (SPAN, *[whole.span_id] * 2)
    headers = engine.calls[0].headers
    assert headers["traceparent"] == f"00-{TRACE}-{upstream.span_id}-01"
    assert headers["tracestate"] == "vendor=1"
    assert (whole.kind, upstream.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert whole.name == "POST /v1/chat/completions"
    assert whole.attributes["enginehouse.request_id"] == answer.headers["x-request-id"]
    assert whole.attributes["http.response.status_code"] == 200
    assert whole.attributes["gen_ai.usage.output_tokens"] == 3
    assert (upstream.began_at - began, upstream.ended_at - began) == pytest.approx((0, 2.5))
    assert upstream.events["first byte"] - began == pytest.approx(2.5)
    assert whole.error == ""


def test_a_failure_of_the_engine_is_an_error_of_its_span(house: House, http: httpx.Client) -> None:
    def breaks(call: Call) -> None:
        call.connection.close()
        raise OSError

    gateway, _, spans = traced(house, breaks)
    status = http.post(gateway.url + CHAT, json={}).status_code
    wait_for(lambda: spans.told, what="spans")
    assert spans.told[0].parent_id is None
    assert spans.told[0].error == spans.told[-1].error == f"answered {status}"


@pytest.mark.parametrize(
    ("traceparent", "share"), [(f"00-{TRACE}-{SPAN}-00", 1.0), (None, 0.0)], ids=["client", "share"]
)
def test_who_is_not_sampled_is_not_traced_and_the_engine_hears_what_the_client_said(
    house: House, http: httpx.Client, traceparent: str | None, share: float
) -> None:
    gateway, engine, spans = traced(house, answers, share=share)
    answer = http.post(
        gateway.url + CHAT, json={}, headers={"traceparent": traceparent} if traceparent else {}
    )
    house.record_of(answer)
    assert engine.calls[0].headers.get("traceparent") == traceparent
    assert spans.told == []

"""The spans of an engine process: a collector reads them below the span that the gateway names."""

from typing import Any

import httpx
import pytest

from controlplane.traces.spans import new_span_id, new_trace_id, traceparent_of
from tests.gates import Gates
from tests.waiting import wait_for
from tests.webhook_receiver import WebhookReceiver
from tests.workers.runtimes.native.collected import spans_in
from tests.workers.runtimes.native.server import EngineServer, Steps
from workers.runtimes.native.tracing import spans_of

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
pytestmark = [pytest.mark.process, pytest.mark.engine]

CHAT = "/v1/chat/completions"
ASKED = {
    "model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5,
    "temperature": 0, "ignore_eos": True,
}  # fmt: skip


def _attributes(span: Any) -> dict[str, Any]:
    return {each.key: each.value.int_value for each in span.attributes}


def test_queue_prefill_and_decode_follow_each_other_below_the_gateways_span(
    server: EngineServer, collector: WebhookReceiver
) -> None:
    trace_id, above = new_trace_id(), new_span_id()
    headers = {"traceparent": traceparent_of(trace_id, above)}
    request = ASKED | {"n": 2, "stream": True, "stream_options": {"include_usage": True}}
    assert server.http.post(CHAT, json=request, headers=headers).status_code == 200
    wait_for(lambda: spans_in(collector, trace_id), what="spans")

    engine, *rows = spans_in(collector, trace_id)
    reports = (engine.name, engine.parent_span_id.hex(), engine.status.message)
    assert reports == ("engine", above, "")
    assert _attributes(engine)["gen_ai.usage.output_tokens"] == 10
    assert [each.name for each in rows] == ["queue", "prefill", "decode"] * 2
    assert {each.parent_span_id for each in rows} == {engine.span_id}
    assert [_attributes(each)["enginehouse.choice"] for each in rows] == [0] * 3 + [1] * 3
    for queue, prefill, decode in (rows[:3], rows[3:]):
        times = [engine.start_time_unix_nano, queue.start_time_unix_nano,
                 prefill.start_time_unix_nano, decode.start_time_unix_nano,
                 decode.end_time_unix_nano, engine.end_time_unix_nano]  # fmt: skip
        assert times == sorted(times)
        assert queue.end_time_unix_nano == prefill.start_time_unix_nano
        assert prefill.end_time_unix_nano == decode.start_time_unix_nano
        assert _attributes(decode)["gen_ai.usage.output_tokens"] == 5


def test_a_request_whose_client_left_in_its_prompt_has_no_decode_and_says_so(
    server: EngineServer, collector: WebhookReceiver, gates: Gates
) -> None:
    trace_id = new_trace_id()
    headers = {"traceparent": traceparent_of(trace_id, new_span_id())}
    with Steps(gates) as steps:
        with pytest.raises(httpx.ReadTimeout):
            server.http.post(CHAT, json=ASKED, headers=headers, timeout=0.2)
        steps.stand()
    wait_for(lambda: spans_in(collector, trace_id), what="spans")
    engine, *rows = spans_in(collector, trace_id)
    assert engine.status.message == "ended before its last token"
    assert "decode" not in [each.name for each in rows]


def test_what_nobody_traces_makes_no_span(server: EngineServer, collector: WebhookReceiver) -> None:
    trace_id, last = new_trace_id(), new_trace_id()
    for report in (
        f"00-{trace_id}-{new_span_id()}-00",
        f"{trace_id}",
        traceparent_of(last, "1" * 16),
    ):
        server.http.post(CHAT, json=ASKED, headers={"traceparent": report})
    server.http.post(CHAT, json=ASKED)
    wait_for(lambda: spans_in(collector, last), what="the spans of the one that is traced")
    assert spans_in(collector, trace_id) == []


def test_without_the_library_it_serves_and_says_why_nothing_is_traced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(__import__("sys").modules, name, None)
    assert spans_of({"TRACES_URL": "http://127.0.0.1:1"}) is None
    assert "OpenTelemetry is not installed" in caplog.text
    assert spans_of({}) is None

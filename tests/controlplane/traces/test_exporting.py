"""Spans reach a collector as OTLP; one that refuses or is away costs spans, and nobody's time."""

import pytest

from controlplane.process_settings.wrong import WrongSetting
from controlplane.traces import exporting
from controlplane.traces.exporting import Exporter
from controlplane.traces.spans import Span, SpanKind, trace_id_of
from tests.loopback_server import nobody_listens
from tests.webhook_receiver import WebhookReceiver


def span(**changes: object) -> Span:
    values = {
        "name": "queue", "trace_id": trace_id_of("t"), "span_id": "00f067aa0ba902b7",
        "parent_id": "b7ad6b7169203331", "kind": SpanKind.CLIENT, "began_at": 1.5, "ended_at": 2.25,
        "attributes": {"enginehouse.request_id": "r"}, "events": {"first byte": 2.0},
    }  # fmt: skip
    return Span(**values | changes)  # type: ignore[arg-type]


@pytest.fixture
def installed() -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


@pytest.mark.usefixtures("installed")
def test_a_collector_reads_what_was_told() -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with WebhookReceiver(statuses=[200]) as collector:
        exporter = Exporter(collector.url("/otel/"), "enginehouse-gateway", "gw-1")
        exporter.add(span(), span(parent_id=None, error="answered 502"))
        exporter.close()
    (posted,) = collector.posted
    assert posted.path == "/otel/v1/traces"
    (report,) = ExportTraceServiceRequest.FromString(posted.body).resource_spans
    named = {each.key: each.value.string_value for each in report.resource.attributes}
    assert (named["service.name"], named["service.instance.id"]) == ("enginehouse-gateway", "gw-1")
    inner, outer = report.scope_spans[0].spans
    assert (inner.trace_id.hex(), inner.span_id.hex()) == (trace_id_of("t"), "00f067aa0ba902b7")
    assert inner.parent_span_id.hex() == "b7ad6b7169203331"
    assert (inner.start_time_unix_nano, inner.end_time_unix_nano) == (1_500_000_000, 2_250_000_000)
    assert [(each.name, each.time_unix_nano) for each in inner.events] == [
        ("first byte", 2_000_000_000)
    ]
    assert (outer.parent_span_id, outer.status.message) == (b"", "answered 502")
    assert exporter.dropped == 0


@pytest.mark.usefixtures("installed")
def test_what_a_collector_refuses_is_dropped_and_counted() -> None:
    with WebhookReceiver(statuses=[400]) as collector:
        exporter = Exporter(collector.url(""), "enginehouse-gateway", "gw-1")
        exporter.add(span(), span())
        exporter.close()
    assert exporter.dropped == 2


@pytest.mark.usefixtures("installed")
def test_while_nobody_takes_them_so_many_wait_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exporting, "MOST_SPANS", 3)
    monkeypatch.setattr(exporting, "_PAUSE_SECONDS", 3600.0)
    with nobody_listens() as place:
        exporter = Exporter(f"http://{place}", "enginehouse-gateway", "gw-1")
        for _ in range(5):
            exporter.add(span())
        assert exporter.dropped == 2
        exporter.close(seconds=0.0)  # who stops waits no longer than that


def test_without_the_library_the_setting_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        __import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None
    )
    with pytest.raises(WrongSetting, match=r"Install `enginehouse\[traces\]`"):
        Exporter("http://127.0.0.1:4318", "enginehouse-gateway", "gw-1")

"""What a collector of OpenTelemetry was told by an engine."""

from typing import Any

from tests.webhook_receiver import WebhookReceiver


def spans_in(collector: WebhookReceiver, trace_id: str) -> list[Any]:
    """Return what it has of a trace."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    report = (ExportTraceServiceRequest.FromString(each.body) for each in collector.posted)
    spans = [span for each in report for span in each.resource_spans[0].scope_spans[0].spans]
    return [span for span in spans if span.trace_id.hex() == trace_id]

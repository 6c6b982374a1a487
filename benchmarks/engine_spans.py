"""What spans the gateway and a vLLM that answers on the CPU tell of the same requests.

A tiny model of random weights is served by the vLLM of `--engine-python`, told of a collector as an
agent tells it, behind a real gateway that traces no request by itself. Three are asked: traced by
the client, left out by it, and without a word. Exit 1 where the spans are not one trace of the
first; 3 without a vLLM, which then prints what was kept.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx

from benchmarks import report
from benchmarks.cpu_vllm import serving_vllm, version_of
from tests.waiting import wait_for
from tests.webhook_receiver import WebhookReceiver
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import CHAT, KEY, routes

_KEPT = Path(__file__).parent / "results"
_TRACE, _LEFT_OUT, _CLIENT = "0af7651916cd43dd8448eb211c80319c", "1" * 32, "b7ad6b7169203331"
_HEADERS = ({"traceparent": f"00-{_TRACE}-{_CLIENT}-01"},
            {"traceparent": f"00-{_LEFT_OUT}-{_CLIENT}-00"}, {})  # fmt: skip
_AWAITED = {"llm_request", "upstream"}
BARS = {
    "spans_of_vllm": report.at_most(1),
    "spans_of_vllm_below_the_gateways": report.at_least(1),
    "spans_of_other_traces": report.at_most(0),
}


def main() -> int:
    """Return the exit status: 0 where the spans of both are one trace."""
    parser = report.parser(__doc__, full="does the same")
    parser.add_argument("--engine-python", help="the Python of an environment with vLLM")
    options = parser.parse_args()
    if not options.engine_python:
        print(sorted(_KEPT.glob("engine_spans-*.json"))[-1].read_text())
        return report.NO_HARDWARE
    told = report.Report(as_json=options.json)
    with tempfile.TemporaryDirectory() as folder:
        return told.end(_measure(Path(folder), options.engine_python), BARS)


def _measure(folder: Path, python: str) -> dict[str, Any]:
    with WebhookReceiver() as collector:
        url = collector.url("")
        os.environ |= {"TRACES_URL": url, "TRACES_SHARE": "0"}
        engine = serving_vllm(folder, python, "--otlp-traces-endpoint", collector=url)
        with engine as port, closing(ProcessHouse(folder)) as house:
            house.publish_snapshot(routes(port, served_model_name="tiny"))
            _ask_all(house.gateway().url)
            wait_for(lambda: _names(collector) >= _AWAITED, what=lambda: _names(collector))
        # Both have ended by now, and have told what they had.
        return _figures(collector, python)


def _ask_all(gateway: str) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}
    for headers in _HEADERS:
        headers = {"authorization": f"Bearer {KEY}", **headers}
        httpx.post(gateway + CHAT, json=body, headers=headers, timeout=60).raise_for_status()


def _figures(collector: WebhookReceiver, python: str) -> dict[str, Any]:
    spans = list(_spans(collector))
    ours = {span["name"]: span for span in spans if span["name"] != "llm_request"}
    engines = [span for span in spans if span["name"] == "llm_request"]
    below = [each for each in engines if each["parent"] == ours["upstream"]["id"]]
    return {
        "vllm": version_of(python),
        "spans_of_the_gateway": len(spans) - len(engines),
        "spans_of_vllm": len(engines),
        "spans_of_vllm_below_the_gateways": len(below),
        "spans_of_other_traces": sum(span["trace"] != _TRACE for span in spans),
        "spans": spans,
    }


def _names(collector: WebhookReceiver) -> set[str]:
    return {span["name"] for span in _spans(collector)}


def _spans(collector: WebhookReceiver) -> Iterator[Mapping[str, Any]]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for each in collector.posted:
        for of in ExportTraceServiceRequest.FromString(each.body).resource_spans:
            for span in of.scope_spans[0].spans:
                yield {
                    "name": span.name, "trace": span.trace_id.hex(), "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "attributes": {a.key: _value(a.value) for a in span.attributes},
                }  # fmt: skip


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind in ("string_value", "int_value", "double_value") else None


if __name__ == "__main__":
    sys.exit(main())

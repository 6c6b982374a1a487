"""What spans the gateway and a vLLM that answers on the CPU tell of the same requests.

A tiny model of random weights is served by the vLLM of `--engine-python`, told of a collector as an
agent tells it, behind a real gateway that traces no request by itself. Three are asked: traced by
the client, left out by it, and without a word. Exit 1 where the spans are not one trace of the
first; 3 without a vLLM, which then prints what was kept.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx

from benchmarks import report
from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.spec import parse_mapping
from controlplane.processes import ports
from tests import tiny_checkpoint
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
        with _engine(folder, python, url) as port, closing(ProcessHouse(folder)) as house:
            house.publish_snapshot(routes(port, served_model_name="tiny"))
            _ask_all(house.gateway().url)
            wait_for(lambda: _names(collector) >= _AWAITED, what=lambda: _names(collector))
        # Both have ended by now, and have told what they had.
        return _figures(collector, python)


@contextmanager
def _engine(folder: Path, python: str, collector: str) -> Iterator[int]:
    # vLLM has no attention on the CPU for heads as narrow as the tests' are.
    tiny_checkpoint.HIDDEN, tiny_checkpoint.HEAD_DIM = 256, 64
    tiny_checkpoint.make_tiny_checkpoint(folder / "model")
    log, reserved = folder / "engine.log", ports.reserved()
    port = ports.port_of(reserved)
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(folder / "model", python, port, collector),
            env=os.environ | _environment(python, collector), stdout=output, stderr=output,
        )  # fmt: skip
    try:
        wait_for(lambda: _is_ready(process, port, log), what=lambda: log.read_text()[-3000:])
        yield port
    finally:
        process.terminate()
        process.wait()
        reserved.close()


def _command(model: Path, python: str, port: int, collector: str) -> list[str]:
    argv = _launch(python, collector).argv
    at = argv.index("--otlp-traces-endpoint")
    return [
        python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), "--port", str(port),
        "--host", "127.0.0.1", "--served-model-name", "tiny", "--max-model-len", "256",
        "--enforce-eager", "--dtype", "float32", "--max-num-seqs", "4", *argv[at : at + 2],
    ]  # fmt: skip


def _environment(python: str, collector: str) -> dict[str, str]:
    on_the_cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    return {**_launch(python, collector).environment, **on_the_cpu}


def _launch(python: str, collector: str) -> Any:
    spec = parse_mapping(
        {
            "model_name": "tiny",
            "resources": {"accelerator": "H100"},
            "trt_llm": {"build": {"checkpoint_repository": {"source": "HF", "repo": "a/b"}}},
            "enginehouse": {"runtime": "vllm"},
        }
    ).spec
    assert spec is not None
    start = Start(model_dir="/m", host="127.0.0.1", port=1, python=python, threads=1,
                  memory_bytes=80 * 10**9, traces_url=collector)  # fmt: skip
    return RUNTIMES["vllm"].render(spec, LLAMA_8B, start)


def _is_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> bool:
    if process.poll() is not None:
        sys.exit(f"vLLM ended:\n{log.read_text()[-3000:]}")
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/health").is_success
    return False


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
        "vllm": subprocess.check_output(
            [python, "-c", "import importlib.metadata as m; print(m.version('vllm'))"], text=True
        ).strip(),
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

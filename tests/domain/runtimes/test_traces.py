"""Each engine that can is told where its spans go, by a word that its version knows."""

from dataclasses import replace

import pytest

from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES, Launch, Start
from controlplane.domain.runtimes.vllm.capabilities import VERSIONS
from controlplane.domain.spec import parse_mapping
from tests.domain.runtimes.vllm.test_drafts_beside_adapters import DRAFTS, example

_START = Start(model_dir="/m", host="127.0.0.1", port=1, python="p", threads=1,
               memory_bytes=80 * 10**9, traces_url="http://collector:4318/")  # fmt: skip


def _launch(runtime: str, start: Start) -> Launch:
    spec = parse_mapping(example(DRAFTS).content).spec
    assert spec is not None
    return RUNTIMES[runtime].render(spec, LLAMA_8B, start)


@pytest.mark.parametrize("version", VERSIONS)
def test_vllm_sends_its_spans_over_http_where_its_agent_is_told_a_collector(version: str) -> None:
    launch = _launch("vllm", replace(_START, version=version))
    at = launch.argv.index("--otlp-traces-endpoint")
    assert launch.argv[at + 1] == "http://collector:4318/v1/traces"
    assert launch.environment["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] == "http/protobuf"
    # Which requests are traced is the gateway's choice; its own would be every one.
    assert launch.environment["OTEL_TRACES_SAMPLER"] == "parentbased_always_off"
    untold = _launch("vllm", replace(_START, version=version, traces_url=None))
    assert "--otlp-traces-endpoint" not in untold.argv
    assert not [name for name in untold.environment if name.startswith("OTEL")]


def test_the_native_engine_is_told_as_its_agent_is() -> None:
    assert _launch("native", _START).environment["TRACES_URL"] == "http://collector:4318/"
    assert "TRACES_URL" not in _launch("native", replace(_START, traces_url=None)).environment


def test_tensorrt_llm_is_told_nothing_which_it_might_not_start_with() -> None:
    assert _launch("trtllm", _START) == _launch("trtllm", replace(_START, traces_url=None))

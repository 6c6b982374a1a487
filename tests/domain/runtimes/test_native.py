"""The native engine's pure side: command, capabilities, failures and metrics."""

from typing import Any

import pytest

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.failures import Failure
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import BERT, SMOLLM2_135M, Example
from controlplane.domain.runtimes import Feature, Support
from controlplane.domain.runtimes.native import failures, metrics, parse, render
from controlplane.domain.runtimes.native.capabilities import capability
from controlplane.domain.spec import parse_mapping
from tests.domain.conftest import MakeSpec
from tests.domain.runtimes.engine_fields import LOOKAHEAD, PLACE, all_fields


def test_the_command_is_the_agreed_one(make_spec: MakeSpec) -> None:
    launch = render.render(
        make_spec({"max_seq_len": 2048}, model_name="tiny model"),
        SMOLLM2_135M,
        model_dir="/artifacts/a b",
        host="127.0.0.1",
        port=4000,
        python="/usr/bin/python3",
        threads=2,
        memory_bytes=4 * GIB,
    )
    assert launch.argv == (
        "/usr/bin/python3", "-m", "workers.runtimes.native", "--model-dir", "/artifacts/a b",
        "--host", "127.0.0.1", "--port", "4000", "--served-model-name", "tiny model",
        "--max-batch-size", "8", "--max-seq-len", "2048", "--max-num-tokens", "8192",
        "--kv-cache-bytes", str(8 * 2048 * 46_080), "--threads", "2", "--dtype", "float32",
        "--default-max-tokens", "2048",
    )  # fmt: skip
    assert launch.environment == {
        "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "2",
    }  # fmt: skip


def test_a_rendered_command_parses_to_the_same_settings(make_spec: MakeSpec) -> None:
    spec = make_spec({"max_batch_size": 3}, model_name="-odd name")
    settings = render.engine_settings(
        spec, SMOLLM2_135M, model_dir="/m", host="::1", port=0, threads=1, memory_bytes=3 * GIB
    )
    assert parse.parse(render.to_arguments(settings)) == settings


@pytest.mark.parametrize(
    ("asked", "computes_bfloat16", "dtype"),
    [
        ("auto", False, "float32"), ("auto", True, "bfloat16"),
        ("float32", True, "float32"), ("bfloat16", False, "bfloat16"),
    ],
)  # fmt: skip
def test_a_cpu_computes_in_what_the_config_or_its_processor_says(
    make_spec: MakeSpec, asked: str, computes_bfloat16: bool, dtype: str
) -> None:
    settings = render.engine_settings(
        make_spec({"max_seq_len": 2048}, enginehouse={"dtype": asked}), SMOLLM2_135M,
        model_dir="/m", host="h", port=1, threads=1, memory_bytes=3 * GIB,
        computes_bfloat16=computes_bfloat16,
    )  # fmt: skip
    assert (settings.dtype, settings.device) == (dtype, None)
    number_bytes = {"float32": 4, "bfloat16": 2}[dtype]
    assert settings.kv_cache_bytes == 8 * 2048 * 11_520 * number_bytes


def test_a_gpu_gets_bfloat16_and_the_one_device_that_it_sees(make_spec: MakeSpec) -> None:
    spec = make_spec(
        {"max_seq_len": 2048}, resources={"accelerator": "H100"},
        enginehouse={"runtime": "native"},
    )  # fmt: skip
    settings = render.engine_settings(
        spec, SMOLLM2_135M, model_dir="/m", host="h", port=1, threads=1, memory_bytes=80 * GIB
    )
    arguments = render.to_arguments(settings)
    at = arguments.index("--dtype")
    assert arguments[at : at + 4] == ("--dtype", "bfloat16", "--device", "cuda")
    assert settings.kv_cache_bytes == 8 * 2048 * 23_040
    assert parse.parse(arguments) == settings


def test_an_encoder_gets_no_cache_its_own_limits_and_the_task(make_spec: MakeSpec) -> None:
    spec = make_spec({"base_model": "encoder", "max_seq_len": 64}, model_name="bert")
    settings = render.engine_settings(
        spec, BERT, model_dir="/m", host="::1", port=0, threads=1, memory_bytes=3 * GIB
    )
    arguments = render.to_arguments(settings)
    assert arguments[-2:] == ("--task", "pool")
    assert not {"--kv-cache-bytes", "--default-max-tokens"} & {*arguments}
    assert parse.parse(arguments) == settings
    # 32 texts a forward as BEI, up to the model's own length: `max_seq_len` has no effect on it.
    assert (settings.max_batch_size, settings.max_seq_len) == (32, 512)
    assert settings.max_num_tokens == 16_384


def test_scheduling_guesses_and_adapters_reach_the_engine(make_spec: MakeSpec) -> None:
    build = {
            "lora_adapters": {"legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}},
            "lora_configuration": {"max_lora_rank": 16},
            "speculator": {
                "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 1,
                "lookahead_ngram_size": 8, "lookahead_verification_set_size": 1,
            },
    }  # fmt: skip
    runtime = {"batch_scheduler_policy": "max_utilization", "total_token_limit": 9000}
    engine = make_spec(build).trt_llm.model_dump(mode="json")
    spec = make_spec(
        trt_llm={**engine, "runtime": {**engine["runtime"], **runtime}},
        enginehouse={"generic_tools": True, "draft_factor": 4, "undrafted_share": 0.25},
    )
    settings = render.engine_settings(
        spec, SMOLLM2_135M, model_dir="/a", host="h", port=1, threads=1, memory_bytes=4 * GIB
    )
    assert settings.batch_scheduler_policy == "max_utilization"
    assert settings.total_token_limit == 9000
    assert (settings.lookahead_ngram_size, settings.draft_factor) == (8, 4)
    assert settings.undrafted_share == 0.25
    assert settings.adapters == (("legal", "/a/adapters/legal"),)
    assert settings.max_adapter_rank == 16
    assert settings.generic_tools
    assert parse.parse(render.to_arguments(settings)) == settings


ELSEWHERE = frozenset(
    {
        "trt_llm.build.checkpoint_repository",  # the build fetches it
        "trt_llm.build.max_beam_width",  # one beam is all that may be asked for
        "trt_llm.runtime.webserver_default_route",  # the gateway routes
        "enginehouse.shared_prefixes",  # the gateway salts
        "enginehouse.extra_routes",  # the gateway says what clients may call
        "enginehouse.runtime", "enginehouse.gate", "enginehouse.pool",
    }
)  # fmt: skip


@pytest.mark.parametrize(("stack", "field", "value"), all_fields(), ids=lambda each: str(each)[:48])
def test_a_field_reaches_the_engine_or_is_said_to_have_no_effect(
    stack: str, field: str, value: object
) -> None:
    beside: dict[str, Any] = {"enginehouse.runtime": "native"}
    if "lora_c" in field:
        beside["trt_llm.build.lora_adapters"] = {"x": PLACE}
    if field in ("enginehouse.draft_factor", "enginehouse.undrafted_share"):
        beside["trt_llm.build.speculator"] = LOOKAHEAD
    if stack == "v2":
        beside |= {"trt_llm.inference_stack": "v2", "trt_llm.build.max_seq_len": None}
        beside["trt_llm.runtime"] = {}
    plain, changed = _looked_at(beside), _looked_at({**beside, field: value})
    names = [name for name in changed[1] if name == field or name.startswith(f"{field}.")]
    assert field in ELSEWHERE or plain[0] != changed[0] or names


def _looked_at(changes: dict[str, Any]) -> tuple[tuple[str, ...], set[str]]:
    """The command of a config, and every setting that a finding or a difference names."""
    example = Example(config=changes, checkpoint=SMOLLM2_135M)
    spec = parse_mapping(example.content).spec
    assert spec is not None
    examination = examine(example.content, example.known)
    named = {name for finding in examination.report.findings for name in finding.fields}
    named |= {value.field for value in examination.effective}
    settings = render.engine_settings(
        spec, SMOLLM2_135M, model_dir="/m", host="h", port=1, threads=1, memory_bytes=4 * GIB
    )
    return render.to_arguments(settings), named


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "required"), (["--max-batch-size", "0"], "less than 1"), (["--port", "x"], "--port")],
)
def test_a_wrong_command_says_what_is_wrong(arguments: list[str], words: str) -> None:
    with pytest.raises(parse.ArgumentsError, match=words):
        parse.parse(arguments)


def test_every_feature_is_answered_on_every_kind_of_device() -> None:
    assert all(capability(feature).how for feature in Feature)
    assert capability(Feature.FP8_WEIGHTS).support is Support.EMULATED
    assert capability(Feature.FP4_WEIGHTS).support is Support.EMULATED
    assert capability(Feature.CHAT).support is Support.NATIVE
    assert capability(Feature.CHAT, "H100").support is Support.NATIVE
    assert capability(Feature.FP8_WEIGHTS, "H100").support is Support.EMULATED
    assert capability(Feature.FP8_WEIGHTS, "L4").support is Support.UNTESTED
    assert capability(Feature.TOOLS, "H100").support is Support.UNTESTED
    assert capability(Feature.TENSOR_PARALLEL, "H100").is_refused
    assert capability(Feature.CHAT, "T4").is_refused


@pytest.mark.parametrize("pattern", failures.PATTERNS, ids=lambda pattern: pattern.code)
def test_known_output_is_explained(pattern: Pattern) -> None:
    failure = failures.explain(f"INFO starting\n{pattern.example.text}\n")
    assert failure is not None
    assert (failure.code, failure.blame) == (pattern.code, pattern.blame)
    assert failure.detail == pattern.example.text
    assert Failure.from_json(failure.to_json()) == failure


def test_the_last_known_line_wins_and_unknown_output_says_nothing() -> None:
    tail = "[Errno 98] Address already in use\nretrying\n[Errno 28] No space left on device\n"
    failure = failures.explain(tail)
    assert failure is not None
    assert failure.code == "ENG-DISK-FULL"
    assert failures.explain("INFO all is well\n") is None
    assert failures.explain("") is None


EXPOSITION = """\
# HELP engine_requests_running Rows
# TYPE engine_requests_running gauge
engine_requests_running 3
engine_requests_waiting{model="a b"} 2
engine_kv_cache_used_ratio 0.25
engine_prompt_tokens_total 1e3
engine_completion_tokens_total 50.0
engine_time_to_first_token_seconds_bucket{le="0.1"} 5
engine_time_to_first_token_seconds_bucket{le="0.5"} 10
engine_time_to_first_token_seconds_bucket{le="+Inf"} 10
engine_time_to_first_token_seconds_count 10
engine_time_to_first_token_seconds_sum 1.5
other_metric 1
broken line
engine_inter_token_seconds_sum NaN
"""


def test_metrics_are_read_under_our_names() -> None:
    read = metrics.read(EXPOSITION)
    assert read["requests_running"] == 3
    assert read["requests_waiting"] == 2
    assert read["prompt_tokens_total"] == 1000
    assert read["time_to_first_token_seconds_count"] == 10
    assert read["time_to_first_token_seconds_p50"] == pytest.approx(0.1)
    assert read["time_to_first_token_seconds_p90"] == pytest.approx(0.42)
    assert "inter_token_seconds_sum" not in read
    assert metrics.read("") == {}

"""vLLM and TensorRT-LLM, what both must hold: no field lost, failures, capabilities, metrics."""

from typing import Any

import pytest
import yaml

from controlplane.domain.commands.command_writer import NO_FLAG
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.runtimes import RUNTIMES, Feature, Support, native, trtllm, vllm
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.outside_engine import OUTSIDE
from controlplane.domain.spec import Spec, parse_mapping
from controlplane.domain.spec.engine_build import (
    EngineBuild,
    LoraConfiguration,
    PluginConfiguration,
)
from controlplane.domain.spec.engine_runtime import RuntimeV1, RuntimeV2
from controlplane.domain.spec.enginehouse_settings import EnginehouseSettings
from tests.domain.runtimes.engine_fields import (
    BUILD,
    INNER,
    LOOKAHEAD,
    OURS,
    PLACE,
    RUNTIME_V1,
    RUNTIME_V2,
    all_fields,
)
from tests.domain.runtimes.golden import DRIVERS, launch_of


def spec_with(changes: dict[str, Any], stack: str = "v1") -> Spec:
    base: dict[str, Any] = {"resources.accelerator": "H100:2"}
    if stack == "v2":
        base |= {"trt_llm.inference_stack": "v2", "trt_llm.build.max_seq_len": None,
                 "trt_llm.runtime": {}}  # fmt: skip
    parsed = parse_mapping(Example(config={**base, **changes}).content)
    assert parsed.spec is not None, parsed.errors
    return parsed.spec


def _words(launch: Launch) -> tuple[Any, ...]:
    return launch.argv, dict(launch.files)


def test_the_lists_above_name_every_field_of_the_engine_blocks() -> None:
    assert set(BUILD) == set(EngineBuild.model_fields)
    assert set(RUNTIME_V1) == set(RuntimeV1.model_fields)
    assert set(RUNTIME_V2) == set(RuntimeV2.model_fields)
    assert set(OURS) == set(EnginehouseSettings.model_fields)
    inner = (("lora_configuration", LoraConfiguration), ("plugin_configuration",
             PluginConfiguration))  # fmt: skip
    assert set(INNER) == {f"{block}.{name}" for block, kind in inner for name in kind.model_fields}


def test_every_other_field_of_a_config_has_a_reason_why_no_engine_is_told() -> None:
    assert set(Spec.model_fields) - {"trt_llm"} <= set(OUTSIDE)


@pytest.mark.parametrize("runtime", DRIVERS)
@pytest.mark.parametrize(("stack", "field", "value"), all_fields(), ids=lambda each: str(each)[:48])
def test_a_field_is_told_to_the_engine_or_said_to_have_no_effect(
    runtime: str, stack: str, field: str, value: Any
) -> None:
    beside = {"trt_llm.build.lora_adapters": {"x": PLACE}} if "lora_c" in field else {}
    plain = launch_of(runtime, spec_with(beside, stack))
    launch = launch_of(runtime, spec_with({**beside, field: value}, stack))
    fields = [each.field for each in launch.changed] + [
        each.flag for each in launch.ignored_settings
    ]
    mentioned = any(each == field or each.startswith(f"{field}.") for each in fields)
    by_artifact = field in ("trt_llm.build.checkpoint_repository", "enginehouse.runtime",
                            "trt_llm.build.max_beam_width")  # fmt: skip
    assert mentioned or by_artifact or _words(launch) != _words(plain)
    assert NO_FLAG not in [each.reason for each in launch.ignored_settings]


@pytest.mark.parametrize("version", vllm.capabilities.VERSIONS)
def test_vllm_is_rendered_alike_by_every_known_version(version: str) -> None:
    spec = spec_with({"trt_llm.build.speculator": LOOKAHEAD})
    argv = launch_of("vllm", spec, version=version).argv
    assert '"num_speculative_tokens": 13' in argv[argv.index("--speculative-config") + 1]


def test_lookahead_is_a_suffix_automaton_from_1_3_on() -> None:
    spec = spec_with({"trt_llm.build.speculator": LOOKAHEAD})
    old, new = (launch_of("trtllm", spec, version=each) for each in ("1.2", "1.3"))
    assert "decoding_type: NGram" in old.files["engine.yaml"]
    assert "--extra_llm_api_options" in old.argv
    assert "decoding_type: SA" in new.files["engine.yaml"]
    assert "disable_overlap_scheduler" not in new.files["engine.yaml"]
    assert new.argv_in("/run/x")[-2:] == ("--config", "/run/x/engine.yaml")


@pytest.mark.parametrize("runtime", DRIVERS)
def test_an_unknown_version_is_refused_by_name(runtime: str) -> None:
    with pytest.raises(ValueError, match=r"9\.9 is not known here"):
        launch_of(runtime, spec_with({}), version="9.9")


def test_drafts_of_the_v2_stack_reach_vllm_in_its_own_words() -> None:
    def words(**given: Any) -> str:
        patch = {"trt_llm.runtime.patch_kwargs": {"speculative_config": given}}
        return " ".join(launch_of("vllm", spec_with(patch, "v2")).argv)

    assert '"method": "eagle3", "model": "/d"' in words(
        decoding_type="Eagle", max_draft_len=3, speculative_model_dir="/d"
    )
    assert '"method": "mtp"' in words(decoding_type="MTP", num_nextn_predict_layers=1)
    assert '"method": "ngram"' in words(decoding_type="NGram", max_draft_len=8)
    assert "--speculative-config" not in words(decoding_type="Medusa", max_draft_len=8)


def test_an_exported_fp8_kv_cache_is_told_to_both() -> None:
    kept = ExistingQuantization(method="modelopt", algorithm="FP8", kv_cache="FP8")
    for driver in DRIVERS.values():
        launch = driver.render.render(
            spec_with({}), LLAMA_8B, model_dir="/m", host="::1", port=1, python="p", threads=1,
            memory_bytes=1 << 36, exported=kept,
        )  # fmt: skip
        assert "fp8" in " ".join((*launch.argv, *launch.files.values()))


@pytest.mark.parametrize(
    ("asked", "old", "new"),
    [("Eagle3", "Eagle", "Eagle3"), ("draft_target", "DraftTarget", "Draft_Target"),
     ("MTP", "MTP", "MTP"), ("ngram", "NGram", "NGram")],
)  # fmt: skip
def test_drafts_of_the_v2_stack_are_spelled_as_each_version_of_tensorrt_llm_reads_them(
    asked: str, old: str, new: str
) -> None:
    given = {"decoding_type": asked, "max_draft_len": 3, "speculative_model": "/d"}
    patch = {"trt_llm.runtime.patch_kwargs": {"speculative_config": given}}
    for version, spelled in (("1.2", old), ("1.3", new), ("1.4", new)):
        launch = launch_of("trtllm", spec_with(patch, "v2"), version=version)
        content = yaml.safe_load(launch.files["engine.yaml"])["speculative_config"]
        assert content["decoding_type"] == spelled
        assert content["speculative_model_dir"] == "/d"


def test_drafts_that_a_version_of_tensorrt_llm_has_not_are_left_out_with_the_reason() -> None:
    for kind, reason in (("SA", "`SA` came with TensorRT-LLM 1.3."),
                         ("Medusa", "`Medusa` cannot be asked for in a file.")):  # fmt: skip
        given = {"decoding_type": kind, "max_draft_len": 3}
        patch = {"trt_llm.runtime.patch_kwargs": {"speculative_config": given}}
        launch = launch_of("trtllm", spec_with(patch, "v2"), version="1.2")
        assert "speculative_config" not in yaml.safe_load(launch.files["engine.yaml"])
        assert reason in [each.reason for each in launch.ignored_settings]


LOGS = {
    "native": native.failures.PATTERNS,
    "vllm": vllm.failures.LOG_PATTERNS,
    "trtllm": trtllm.failures.PATTERNS,
}
EACH = [(runtime, pattern) for runtime, patterns in LOGS.items() for pattern in patterns]


def test_more_than_forty_failures_are_known() -> None:
    assert len({pattern.code for _, pattern in EACH}) == len(EACH) >= 40


@pytest.mark.parametrize(("runtime", "pattern"), EACH, ids=lambda each: getattr(each, "code", each))
def test_a_pattern_explains_its_own_example_and_no_other(runtime: str, pattern: Pattern) -> None:
    failure = RUNTIMES[runtime].failures.explain(f"INFO\n{pattern.example.text}\n", {})
    assert failure is not None
    assert failure.code == pattern.code
    assert "{" not in failure.sentence + (failure.hint or "")
    assert pattern.example.source
    others = [each.code for each in LOGS[runtime]
              if each is not pattern and each.last_match(pattern.example.text)]  # fmt: skip
    assert others == []


def test_a_fix_changes_the_field_of_the_config_at_hand() -> None:
    log = next(each for each in vllm.failures.PATTERNS if each.code == "EVL-OUT-OF-MEMORY")
    for stack, field in (("v1", "trt_llm.build"), ("v2", "trt_llm.runtime")):
        spec = spec_with({}, stack).model_dump(mode="json")
        failure = vllm.failures.explain(log.example.text, spec)
        assert failure is not None
        assert failure.fix == {f"{field}.max_num_tokens": 4096}


def test_what_any_engine_prints_of_its_host_is_explained_after_its_own_words() -> None:
    for driver in DRIVERS.values():
        failure = driver.failures.explain("OSError: [Errno 28] No space left on device")
        assert failure is not None
        assert failure.code == "ENG-DISK-FULL"
        assert driver.failures.explain("INFO all is well") is None


@pytest.mark.parametrize("runtime", DRIVERS)
def test_every_feature_is_answered_for_every_version_and_device_with_its_source(
    runtime: str,
) -> None:
    capabilities = RUNTIMES[runtime].capabilities
    for version in (*capabilities.VERSIONS, "0.0"):
        for kind in (*GPUS, "NONESUCH"):
            for feature in Feature:
                capability = capabilities.capability(feature, kind, version)
                assert capability.how
                assert capability.source is not None
    assert capabilities.capability(Feature.CHAT, CPU).is_refused


def test_what_is_emulated_or_refused_where() -> None:
    fp8, fp4 = Feature.FP8_WEIGHTS, Feature.FP4_WEIGHTS
    assert vllm.capabilities.capability(fp4, "H100").is_emulated
    assert vllm.capabilities.capability(fp8, "A100").is_emulated
    assert vllm.capabilities.capability(fp8, "L4").claimed is Support.NATIVE
    assert vllm.capabilities.capability(Feature.CHAT, "V100").is_refused
    assert trtllm.capabilities.capability(fp4, "H100").is_refused
    assert trtllm.capabilities.capability(fp4, "B200").claimed is Support.NATIVE
    assert trtllm.capabilities.capability(Feature.CHAT, "T4").is_refused
    assert trtllm.capabilities.capability(Feature.POOLING, "H100").is_refused
    guided = Feature.STRUCTURED_OUTPUT
    assert trtllm.capabilities.capability(guided, "H100", "1.2").is_emulated
    assert trtllm.capabilities.capability(guided, "H100", "1.3").claimed is Support.NATIVE


@pytest.mark.parametrize(
    ("device", "version", "feature", "support"),
    [
        ("A100", "0.26", Feature.FP8_WEIGHTS, Support.REFUSED),
        ("A100", "0.27", Feature.FP8_WEIGHTS, Support.EMULATED),
        ("L4", "0.25", Feature.FP8_WEIGHTS, Support.NATIVE),
        ("A100", "0.33", Feature.FP8_KV_CACHE, Support.REFUSED),
        ("L4", "0.33", Feature.FP8_KV_CACHE, Support.NATIVE),
        ("H100", "0.25", Feature.FP4_WEIGHTS, Support.EMULATED),
        ("B200", "0.25", Feature.FP4_WEIGHTS, Support.NATIVE),
    ],
)
def test_what_vllm_computes_a_precision_in_goes_by_device_and_version(
    device: str, version: str, feature: Feature, support: Support
) -> None:
    capability = vllm.capabilities.capability(feature, device, version)
    assert (capability.claimed or capability.support) is support


def test_vllm_metrics_come_under_our_names() -> None:
    page = (
        'vllm:num_requests_running{engine="0",model_name="m"} 3.0\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.5\n'
        'vllm:request_success_total{finished_reason="stop"} 2\n'
        'vllm:request_success_total{finished_reason="length"} 1\n'
        'vllm:time_to_first_token_seconds_bucket{le="0.1"} 5\n'
        'vllm:time_to_first_token_seconds_bucket{le="+Inf"} 10\n'
        "vllm:time_to_first_token_seconds_count 10\nvllm:time_to_first_token_seconds_sum 2\n"
    )
    content = vllm.metrics.read(page)
    assert content["requests_running"] == 3
    assert content["kv_cache_used_ratio"] == 0.5
    assert content["requests_finished_total"] == 3
    assert content["time_to_first_token_seconds_p50"] == pytest.approx(0.1)
    assert vllm.metrics.PATH == "/metrics"


def test_tensorrt_llm_metrics_come_under_our_names() -> None:
    page = (
        'trtllm_kv_cache_utilization{model_name="undefined"} 0.25\n'
        'trtllm_request_success_total{finished_reason="stop"} 4\n'
        "trtllm_e2e_request_latency_seconds_count 4\ntrtllm_e2e_request_latency_seconds_sum 8\n"
    )
    assert trtllm.metrics.read(page) == {
        "kv_cache_used_ratio": 0.25,
        "requests_finished_total": 4.0,
        "end_to_end_seconds_count": 4.0,
        "end_to_end_seconds_sum": 8.0,
    }
    assert trtllm.metrics.PATH == "/prometheus/metrics"
    assert set(trtllm.metrics.PLAIN.values()) > set(trtllm.metrics.SINCE)

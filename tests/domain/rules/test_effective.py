"""What a runtime changes is listed as a difference, and nothing else is."""

from typing import Any

import pytest

from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import BERT, LLAMA_8B, Example, facts

_H100 = {"resources.accelerator": "H100", "enginehouse.runtime": "trtllm"}
_OPEN = {"resources.accelerator": "H100"}
_LOOKAHEAD = {
    "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 3,
    "lookahead_ngram_size": 8, "lookahead_verification_set_size": 3,
}  # fmt: skip
_ENCODER = {
    "resources.accelerator": "L4", "trt_llm.build.base_model": "encoder",
    "enginehouse.runtime": "vllm",
}  # fmt: skip


def _differences(config: dict[str, Any], checkpoint: Any = LLAMA_8B) -> dict[str, tuple[Any, Any]]:
    example = Example(config=config, checkpoint=checkpoint)
    outcome = examine(example.content, example.known).effective
    assert all(value.reason.endswith(".") for value in outcome)
    return {
        value.field.removeprefix("trt_llm."): (value.asked, value.effective) for value in outcome
    }


def test_a_config_that_is_served_as_written_has_no_differences() -> None:
    assert _differences(_H100) == {}


def test_lookahead_turns_chunked_prefill_off_and_pads_lengths_for_its_drafts() -> None:
    config = {**_H100, "trt_llm.build.speculator": _LOOKAHEAD}
    assert _differences(config) == {
        "runtime.enable_chunked_context": (True, False),
        "build.max_seq_len": (4096, 4137),
        "build.max_num_tokens": (8192, 10_752),
    }


def test_the_native_engine_says_which_sizes_of_lookahead_it_has_one_value_for() -> None:
    limits = {
        "trt_llm.build.max_batch_size": 4, "trt_llm.build.max_num_tokens": 256,
        "enginehouse.dtype": "float32",
    }  # fmt: skip
    changed = _differences({**limits, "trt_llm.build.speculator": _LOOKAHEAD})
    assert changed == {
        "build.speculator.lookahead_windows_size": (3, 1),
        "build.speculator.lookahead_verification_set_size": (3, 1),
        "build.speculator.enable_b10_lookahead": (False, True),
    }
    dynamic = {
        **_LOOKAHEAD, "lookahead_windows_size": 1, "lookahead_verification_set_size": 1,
        "enable_b10_lookahead": True,
    }  # fmt: skip
    assert _differences({**limits, "trt_llm.build.speculator": dynamic}) == {}


def test_the_native_engine_feeds_long_prompts_in_pieces_of_its_own_size() -> None:
    limits = {"trt_llm.build.max_batch_size": 4, "enginehouse.dtype": "float32"}
    assert _differences(limits) == {"build.max_num_tokens": (8192, 512)}


@pytest.mark.parametrize(
    ("config", "computes_bfloat16", "effective"),
    [
        ({}, False, "float32"),
        ({}, True, "bfloat16"),
        ({"trt_llm.build.base_model": "encoder"}, True, "float32"),
        ({"resources.accelerator": "L4", "enginehouse.runtime": "native"}, False, "bfloat16"),
    ],
)
def test_the_type_that_auto_comes_to_is_told_before_a_build(
    config: dict[str, Any], computes_bfloat16: bool, effective: str
) -> None:
    host = DeviceOffer(
        kind="CPU", count=1, memory_bytes=16 * GIB, computes_bfloat16=computes_bfloat16
    )
    example = Example(config=config, checkpoint=LLAMA_8B, devices=(host,))
    by_field = {each.field: each for each in examine(example.content, example.known).effective}
    report = by_field["enginehouse.dtype"]
    assert (report.asked, report.effective) == ("auto", effective)
    written = Example(config={**config, "enginehouse.dtype": effective}, checkpoint=LLAMA_8B)
    again = examine(written.content, written.known).effective
    assert "enginehouse.dtype" not in {each.field for each in again}


def test_the_kv_cache_is_paged_and_reused_whatever_is_written() -> None:
    config = {
        **_H100,
        "trt_llm.build.plugin_configuration.use_paged_context_fmha": False,
        "trt_llm.runtime.enable_chunked_context": False,
    }
    assert _differences(config) == {
        "build.plugin_configuration.use_paged_context_fmha": (False, True)
    }


@pytest.mark.parametrize(
    ("checkpoint", "route"),
    [
        (facts(architectures=["LlamaModel"]), "/v1/embeddings"),
        (facts(architectures=["LlamaForSequenceClassification"]), "/classify"),
    ],
)
def test_an_encoder_gets_its_own_step_route_and_no_blocks(checkpoint: Any, route: str) -> None:
    assert _differences(_ENCODER, checkpoint) == {
        "build.max_num_tokens": (8192, 16_384),
        "build.plugin_configuration.paged_kv_cache": (True, False),
        "build.plugin_configuration.use_paged_context_fmha": (True, False),
        "runtime.webserver_default_route": (None, route),
    }


@pytest.mark.parametrize(
    ("named", "labels", "route"),
    [(None, 1, "/rerank"), (None, 3, "/classify"), ("/predict", 3, "/classify")],
)
def test_a_classifier_under_vllm_answers_at_vllms_own_route(
    named: str | None, labels: int, route: str
) -> None:
    names = {str(number): f"label {number}" for number in range(labels)}
    checkpoint = facts(architectures=["BertForSequenceClassification"], id2label=names)
    config = {**_ENCODER, "trt_llm.runtime.webserver_default_route": named}
    changed = _differences(config, checkpoint)
    assert changed["runtime.webserver_default_route"] == (named, route)


def test_a_rank_is_not_asked_of_several_labels() -> None:
    names = {"0": "no", "1": "yes"}
    checkpoint = facts(architectures=["BertForSequenceClassification"], id2label=names)
    config = {**_ENCODER, "trt_llm.runtime.webserver_default_route": "/rerank"}
    example = Example(config=config, checkpoint=checkpoint)
    examination = examine(example.content, example.known)
    assert "EH634" in {each.code for each in examination.report.findings}


@pytest.mark.parametrize(("stated", "effective"), [(None, 512), (256, 256), (1024, 512)])
def test_an_encoder_under_vllm_reads_no_more_than_its_checkpoint_does(
    stated: int | None, effective: int
) -> None:
    checkpoint = BERT.model_copy(update={"sentence_tokens": stated})
    changed = _differences(_ENCODER, checkpoint)
    assert changed["build.max_seq_len"] == (4096, effective)
    short = {**_ENCODER, "trt_llm.build.max_seq_len": effective}
    assert "build.max_seq_len" not in _differences(short, checkpoint)


def test_a_length_left_open_becomes_the_models_own() -> None:
    config = {**_H100, "trt_llm.build.max_seq_len": None}
    assert _differences(config) == {"build.max_seq_len": (None, 131_072)}


def test_a_quantized_build_leases_as_many_devices_as_a_replica() -> None:
    config = {
        **_H100, "resources.accelerator": "H100:2", "trt_llm.build.tensor_parallel_count": 2,
        "trt_llm.build.quantization_type": "fp8",
    }  # fmt: skip
    assert _differences(config) == {"build.num_builder_gpus": (None, 2)}


def test_our_own_number_of_calibration_samples_is_used_in_place_of_calib_size() -> None:
    config = {"trt_llm.build.quantization_type": "fp8", "enginehouse.calibration.samples": 16}
    assert _differences(config)["build.quantization_config.calib_size"] == (1024, 16)
    config["trt_llm.build.quantization_type"] = "no_quant"
    assert "build.quantization_config.calib_size" not in _differences(config)


def test_what_auto_means_on_a_gpu_is_told_with_its_reason() -> None:
    example = Example(
        config=_OPEN, checkpoint=LLAMA_8B, runtimes=frozenset({"native", "vllm", "trtllm"})
    )
    (report,) = examine(example.content, example.known).effective
    assert (report.field, report.asked, report.effective) == ("enginehouse.runtime", "auto", "vllm")
    assert report.reason == "Of what the hosts with `H100` start, vLLM comes first for this."


def test_vllm_says_what_it_makes_of_drafts_of_the_policy_and_of_a_step() -> None:
    config = {
        **_OPEN, "enginehouse.runtime": "vllm", "trt_llm.build.speculator": _LOOKAHEAD,
        "trt_llm.runtime.batch_scheduler_policy": "guaranteed_no_evict",
        "trt_llm.runtime.enable_chunked_context": False, "trt_llm.build.max_num_tokens": 512,
    }  # fmt: skip
    assert _differences(config) == {
        "build.max_num_tokens": (512, 4096),
        "build.speculator.speculative_decoding_mode": ("LOOKAHEAD_DECODING", "custom_class"),
        "build.speculator.lookahead_windows_size": (3, 1),
        "build.speculator.lookahead_verification_set_size": (3, 1),
        "runtime.batch_scheduler_policy": ("guaranteed_no_evict", "max_utilization"),
    }


def test_vllm_says_the_rank_that_it_rounds_to() -> None:
    config = {
        **_OPEN, "enginehouse.runtime": "vllm",
        "trt_llm.build.lora_configuration.max_lora_rank": 48,
        "trt_llm.build.lora_adapters": {"a": {"source": "LOCAL", "repo": "/a"}},
    }  # fmt: skip
    assert _differences(config)["build.lora_configuration.max_lora_rank"] == (48, 64)

"""What a build will take: by formula, by what earlier builds took, and behind whom it waits."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.forecast import (
    Ahead,
    Basis,
    PastStep,
    forecast,
    queue_place,
    steps_of_past,
)
from controlplane.domain.forecast.history import is_same_kind
from controlplane.domain.memory import build_estimate
from controlplane.domain.spec import Spec, parse_mapping

GIB = 1024**3
HOST = DeviceOffer(kind="CPU", count=1, memory_bytes=32 * GIB)
H100 = DeviceOffer(kind="H100", count=8, memory_bytes=80 * GIB)
LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 32,
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip


def facts(**changes: Any) -> CheckpointFacts:
    stored = {"weight_bytes": 16_060_522_496, "parameters": 8_030_261_248} | changes
    return checkpoints.read(LLAMA_8B, files=("model.safetensors",), **stored)


def spec(*, accelerator: str | None = None, source: str = "HF", **build: Any) -> Spec:
    parsed = parse_mapping(
        {
            "model_name": "it",
            "resources": {"accelerator": accelerator} if accelerator else {"cpu": "2"},
            "trt_llm": {
                "build": {
                    "checkpoint_repository": {"source": source, "repo": "org/model"},
                    "max_seq_len": 2048,
                    **build,
                }
            },
        }
    )
    assert parsed.spec is not None, parsed.errors
    return parsed.spec


@pytest.mark.parametrize(("billions", "fewest", "most"), [(8, 3, 6), (32, 8, 15), (70, 15, 30)])
def test_a_build_takes_the_minutes_that_users_report(billions: int, fewest: int, most: int) -> None:
    sized = facts(parameters=billions * 10**9).model_copy(update={"counts": None})
    wanted = spec(accelerator="H100:1", source="LOCAL", quantization_type="fp8")
    steps = forecast(wanted, sized, H100, host=HOST).steps
    # Theirs have no gate.
    likewise = [each.seconds for each in steps if each.name != "gate" and each.seconds]
    assert sum(each.low for each in likewise) / 60 <= 1.1 * fewest + 1
    assert sum(each.high for each in likewise) / 60 >= most - 1


def test_without_quantization_a_build_is_shorter() -> None:
    plain, quantized = (
        forecast(spec(accelerator="H100:1", **build), facts(), H100, host=HOST).seconds
        for build in ({}, {"quantization_type": "fp8"})
    )
    assert plain is not None
    assert quantized is not None
    assert plain.high < quantized.high


def test_a_search_within_a_budget_takes_what_it_was_measured_to() -> None:
    def calibrated(**config: Any) -> float:
        build = {"quantization_type": "fp4", "quantization_config": {"calib_size": 64, **config}}
        steps = forecast(spec(**build), facts(), HOST, host=HOST).steps
        found = next(each.seconds for each in steps if each.name == "calibrate")
        assert found is not None
        return found.high

    assert 10 < calibrated(effective_bits=6) / calibrated() < 14
    ratio = calibrated(effective_bits=6, calib_size=1024) / calibrated(calib_size=1024)
    assert 2 < ratio < 3, "no more than 128 rows are searched with"


def test_a_build_on_devices_takes_the_device_memory_of_the_builder_plan() -> None:
    wanted = spec(accelerator="H100:1", source="LOCAL", quantization_type="fp8")
    told = forecast(wanted, facts(), H100, host=HOST)
    planned = build_estimate(wanted, facts(), H100)
    assert planned.need is not None
    assert told.device_bytes is not None
    assert told.device_bytes.low == told.device_bytes.high == planned.need.peak_bytes
    assert [each.name for each in told.steps][2:4] == ["calibrate", "gate"]


def test_a_build_on_a_cpu_says_that_it_has_no_device_and_what_its_steps_hold() -> None:
    told = forecast(spec(quantization_type="fp8"), facts(), HOST, host=HOST).model_dump()
    assert told["device_bytes"] is None
    assert told["device_absent"] == "it runs on the CPU"
    calibrate = next(each for each in told["steps"] if each["name"] == "calibrate")
    # 16-bit weights at least, float32 at most, and the exported copy beside them.
    assert 2 * 8.03e9 < calibrate["host_bytes"]["low"] < 4 * 8.03e9
    assert calibrate["host_bytes"]["high"] > (4 + 1.2) * 8.03e9
    assert "T operations" in calibrate["seconds"]["source"]


def test_nothing_quantized_means_four_steps_and_no_second_copy_of_the_weights() -> None:
    told = forecast(spec(), facts(), HOST, host=HOST)
    assert [each.name for each in told.steps] == ["fetch", "inspect", "package", "smoke_test"]
    assert told.disk.working_bytes == told.disk.download_bytes == 16_060_522_496


@pytest.mark.parametrize(
    ("source", "is_fetched", "download"),
    [("HF", False, 16_060_522_496), ("HF", True, 0), ("LOCAL", False, 0)],
)
def test_what_lies_there_is_not_downloaded(source: str, is_fetched: bool, download: int) -> None:
    told = forecast(
        spec(source=source, quantization_type="fp8"),
        facts(),
        HOST,
        host=HOST,
        is_fetched=is_fetched,
    )
    assert told.disk.download_bytes == download
    assert told.disk.exported_bytes is not None
    assert 0.5 < told.disk.exported_bytes / 16_060_522_496 < 0.62


def test_measured_steps_come_before_the_formula_and_say_how_often_they_were_measured() -> None:
    past = steps_of_past(
        PastStep(name=name, seconds=seconds, peak_host_bytes=held)
        for name, seconds, held in [
            ("calibrate", 30.0, 3 * GIB),
            ("calibrate", 40.0, None),
            ("fetch", 1.0, 50_000_000),
        ]
    )
    told = forecast(spec(quantization_type="fp8"), facts(), HOST, host=HOST, past=past)
    steps = {each.name: each for each in told.steps}
    seconds = steps["calibrate"].seconds
    assert seconds is not None
    assert (seconds.low, seconds.high, seconds.builds) == (30.0, 40.0, 2)
    assert seconds.basis is Basis.MEASURED
    held = steps["calibrate"].host_bytes
    assert held is not None
    assert (held.high, held.builds) == (3 * GIB, 1)
    # Those files lay there: of a download they tell nothing.
    assert steps["fetch"].seconds is not None
    assert steps["fetch"].seconds.basis is Basis.FORMULA
    assert told.seconds is not None
    assert "1 of 6 measured" in told.seconds.source


def test_what_a_checkpoint_does_not_say_is_absent() -> None:
    unknown = CheckpointFacts(architecture="LlamaForCausalLM")
    told = forecast(spec(quantization_type="fp8"), unknown, HOST, host=HOST).model_dump()
    assert told["disk"]["working_bytes"] is None
    held = {each["name"]: each["host_bytes"] for each in told["steps"]}
    assert held["calibrate"] is held["smoke_test"] is None


def test_builds_of_one_kind_share_checkpoint_quantization_device_and_calibration() -> None:
    one = spec(quantization_type="fp8")
    assert is_same_kind(one, spec(quantization_type="fp8"))
    assert not is_same_kind(one, spec(quantization_type="fp8_kv"))
    assert not is_same_kind(one, spec(quantization_type="fp8", accelerator="H100:1"))
    shorter = {"calib_size": 512, "calib_max_seq_length": 256}
    assert not is_same_kind(one, spec(quantization_type="fp8", quantization_config=shorter))
    searched = {"effective_bits": 12}
    assert not is_same_kind(one, spec(quantization_type="fp8", quantization_config=searched))


def test_the_wait_is_the_work_before_shared_by_the_workers_that_are_at_it() -> None:
    ahead = [
        Ahead(is_running=True, low_seconds=10, high_seconds=20),
        Ahead(is_running=True, low_seconds=30, high_seconds=60),
        Ahead(is_running=False, low_seconds=40, high_seconds=80),
    ]
    place = queue_place("default", ahead)
    assert (place.waiting, place.running) == (1, 2)
    assert (place.low_seconds, place.high_seconds) == (40, 80)
    nobody = queue_place("default", [Ahead(is_running=False, low_seconds=None, high_seconds=None)])
    assert nobody.low_seconds is None
    assert "1 build before this one has no forecast" in nobody.source
    assert queue_place("default", []).high_seconds == 0


def test_a_type_whose_scales_come_from_weights_alone_runs_samples_in_the_gate_only() -> None:
    found = {}
    for kind in ("fp8", "fp8_block"):
        wanted = spec(accelerator="H100:1", source="LOCAL", quantization_type=kind)
        steps = forecast(wanted, facts(), H100, host=HOST).steps
        found[kind] = {each.name: str(each.seconds) for each in steps}
    assert "operations" in found["fp8"]["calibrate"]
    assert "operations" not in found["fp8_block"]["calibrate"]
    assert "operations" in found["fp8_block"]["gate"]

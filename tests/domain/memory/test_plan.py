"""The memory plan against arithmetic done by hand, and its stable form."""

import pytest

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.matrices import MatrixKind
from controlplane.domain.memory import builder_devices, longest_sequence, plan
from controlplane.domain.memory.native_limits import DECODER_STEP_TOKENS
from controlplane.domain.memory.weights import gpu_weights, table_parameters
from controlplane.domain.rules import DeviceOffer
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, SMOLLM2_135M, facts
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.conftest import MakeSpec
from tests.domain.memory.models import with_share

HOST = DeviceOffer(kind="CPU", count=1, memory_bytes=24 * GIB)


def test_smollm2_on_a_cpu_is_planned_in_float32(make_spec: MakeSpec) -> None:
    planned = plan(make_spec(), SMOLLM2_135M, HOST, RUNTIMES["native"].memory)
    assert planned.weights_bytes == 4 * 134_515_008
    assert planned.kv_bytes_per_token == 2 * 3 * 64 * 30 * 4
    assert planned.sequence_tokens == 8192
    assert planned.full_length_requests == planned.batch_size == 8
    assert planned.binding == "max_batch_size"
    assert planned.free_bytes > 0


def test_a_processor_that_computes_bfloat16_halves_weights_and_cache(make_spec: MakeSpec) -> None:
    full, half = (
        plan(make_spec(), SMOLLM2_135M, HOST, RUNTIMES["native"].memory, computes_bfloat16=each)
        for each in (False, True)
    )
    assert 2 * half.weights_bytes == full.weights_bytes
    assert 2 * half.kv_cache_bytes == full.kv_cache_bytes
    assert half.kv_tokens == full.kv_tokens
    assert half.to_json()["kv_cache"]["element_bytes"] == 2


def test_the_native_engine_on_a_gpu_is_planned_in_bfloat16_with_the_steps_that_it_takes(
    make_spec: MakeSpec,
) -> None:
    h100 = DeviceOffer(kind="H100", count=8, memory_bytes=80 * GIB)
    spec = make_spec(resources={"accelerator": "H100"}, enginehouse={"runtime": "native"})
    planned = plan(spec, SMOLLM2_135M, h100, RUNTIMES["native"].memory)
    assert planned.weights_bytes == 2 * 134_515_008
    assert planned.kv_bytes_per_token == 2 * 3 * 64 * 30 * 2
    assert planned.step_tokens == DECODER_STEP_TOKENS
    assert planned.full_length_requests == planned.batch_size == 8
    on_cpu = plan(make_spec(), SMOLLM2_135M, HOST, RUNTIMES["native"].memory)
    assert planned.step_tokens == on_cpu.step_tokens
    assert planned.overhead_bytes > on_cpu.overhead_bytes
    assert planned.estimates


def test_a_count_that_may_be_off_is_told_as_a_range(make_spec: MakeSpec) -> None:
    assert LLAMA_8B.counts is not None
    about = LLAMA_8B.model_copy(
        update={"weight_bytes": None, "counts": LLAMA_8B.counts.model_copy(update={"within": 0.05})}
    )
    spec = make_spec(resources={"accelerator": "H100"})
    h100 = DeviceOffer(kind="H100", count=1, memory_bytes=80 * GIB)
    planned = plan(spec, about, h100, RUNTIMES["vllm"].memory)
    words = "at least 7.63 and at most 8.43 billion parameters"
    assert f"weights, counted from the shape: {words}" in planned.estimates


@pytest.mark.parametrize("algorithm", ["FP8", "NVFP4"])
def test_a_quantized_checkpoint_is_expanded_on_a_cpu(make_spec: MakeSpec, algorithm: str) -> None:
    quantized = facts(quantization_config={"quant_method": "modelopt", "quant_algo": algorithm})
    planned = plan(make_spec(), quantized, HOST, RUNTIMES["native"].memory)
    plain = plan(make_spec(), SMOLLM2_135M, HOST, RUNTIMES["native"].memory)
    assert planned.weights_bytes == plain.weights_bytes
    assert planned.kv_cache_bytes == plain.kv_cache_bytes


def test_the_files_of_an_uncounted_quantized_checkpoint_are_expanded_too(
    make_spec: MakeSpec,
) -> None:
    quantized = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4"})
    uncounted = quantized.model_copy(update={"parameters": None, "weight_bytes": 5_625_000})
    assert plan(make_spec(), uncounted, HOST, RUNTIMES["native"].memory).weights_bytes == 40_000_000


@pytest.mark.parametrize("share", [0.9, 0.37, 1.0])
def test_a_plan_within_the_reserved_memory_comes_to_the_same_cache(
    make_spec: MakeSpec, share: float
) -> None:
    spec = with_share(make_spec({"max_batch_size": 3}), share)
    planned = plan(spec, SMOLLM2_135M, HOST, RUNTIMES["native"].memory)
    reserved = DeviceOffer(kind="CPU", count=1, memory_bytes=planned.reserved_bytes)
    again = plan(spec, SMOLLM2_135M, reserved, RUNTIMES["native"].memory)
    assert again.kv_cache_bytes == planned.kv_cache_bytes
    assert planned.reserved_bytes < HOST.memory_bytes


def test_a_written_batch_size_is_kept_on_a_cpu(make_spec: MakeSpec) -> None:
    planned = plan(
        make_spec({"max_batch_size": 256}), SMOLLM2_135M, HOST, RUNTIMES["native"].memory
    )
    assert planned.batch_size == 256
    assert planned.binding == "kv_cache"


def test_the_json_form_has_the_documented_keys(make_spec: MakeSpec) -> None:
    content = plan(make_spec(), SMOLLM2_135M, HOST, RUNTIMES["native"].memory).to_json()
    assert set(content["model"]) == {
        "architecture", "parameters", "weight_bytes", "kv_bytes_per_token",
    }  # fmt: skip
    assert set(content["per_gpu"]) == {
        "device_bytes", "weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes",
        "free_bytes",
    }  # fmt: skip
    assert {"kv_tokens", "full_length_requests", "binding"} <= set(content["capacity"])
    assert set(content) == {
        "model", "per_gpu", "capacity", "weights", "kv_cache", "speed", "encoder_speed",
        "estimates",
    }  # fmt: skip
    assert content["model"]["weight_bytes"] == 2 * 134_515_008
    assert content["model"]["kv_bytes_per_token"] == 2 * 3 * 64 * 30 * 2
    assert (
        sum(content["per_gpu"][name] for name in content["per_gpu"] if name != "device_bytes")
        == (content["per_gpu"]["device_bytes"])
    )


def test_quantization_halves_the_body_and_leaves_the_tables(make_spec: MakeSpec) -> None:
    h100 = DeviceOffer(kind="H100", count=8, memory_bytes=80 * GIB)
    sizes = {
        name: plan(
            make_spec({"quantization_type": name}, resources={"accelerator": "H100"}),
            LLAMA_8B, h100, RUNTIMES["trtllm"].memory,
        )
        for name in ("no_quant", "fp8", "fp8_kv", "fp4")
    }  # fmt: skip
    tables = 2 * 128_256 * 4096
    body = (LLAMA_8B.parameters or 0) - tables
    assert sizes["no_quant"].weights_bytes == 2 * (body + tables)
    assert sizes["fp8"].weights_bytes == body + 2 * tables
    assert sizes["fp4"].weights_bytes == round(0.5625 * body + 2 * tables)
    assert sizes["fp8_kv"].kv_bytes_per_token * 2 == sizes["fp8"].kv_bytes_per_token == 131_072


def test_excluded_modules_stay_in_16_bits_in_the_plan(make_spec: MakeSpec) -> None:
    down = MatrixKind(
        name="model.layers.{}.mlp.down_proj", layers=((0, 31),), parameters=4096 * 14_336
    )
    checkpoint = LLAMA_8B.model_copy(update={"matrices": (down,)})
    h100 = DeviceOffer(kind="H100", count=1, memory_bytes=80 * GIB)

    def weights(*patterns: str) -> int:
        build = {
            "quantization_type": "fp8",
            "quantization_config": {"exclude_modules": list(patterns)},
        }
        spec = make_spec(build, resources={"accelerator": "H100"})
        return plan(spec, checkpoint, h100, RUNTIMES["vllm"].memory).weights_bytes

    assert weights("*.down_proj") - weights() == 32 * down.parameters
    assert weights("model.layers.3.*") - weights() == down.parameters


def test_a_budget_of_bits_is_the_most_that_weights_take(make_spec: MakeSpec) -> None:
    def quantized(**config: object) -> int:
        build = {"quantization_type": "fp4", "quantization_config": config}
        weights = gpu_weights(make_spec(build, resources={"accelerator": "B200"}), LLAMA_8B)
        assert weights is not None
        return weights.quantized_bytes

    assert LLAMA_8B.parameters is not None
    layers = LLAMA_8B.parameters - table_parameters(LLAMA_8B)
    assert quantized() == quantized(effective_bits=4.5) == round(layers * 4.5 / 8)
    assert quantized(effective_bits=6.5) == round(layers * 6.5 / 8)
    kept = {"effective_bits": 6.5, "exclude_modules": ["*.down_proj"]}
    assert quantized(**kept) == quantized(effective_bits=6.5), "the budget counts them"


def test_the_longest_sequence_is_in_round_numbers(make_spec: MakeSpec) -> None:
    small = DeviceOffer(kind="CPU", count=1, memory_bytes=2 * GIB)
    planned = plan(make_spec(), SMOLLM2_135M, small, RUNTIMES["native"].memory)
    assert longest_sequence(planned) % 256 == 0
    assert 0 < longest_sequence(planned) <= planned.kv_tokens


def test_quantizing_seventy_billion_takes_four_large_devices(make_spec: MakeSpec) -> None:
    spec = make_spec({"quantization_type": "fp8"}, resources={"accelerator": "H100:2"})
    need = builder_devices(spec, LLAMA_70B, 80 * GIB)
    assert need is not None
    assert need.devices == 4
    assert need.peak_bytes == pytest.approx(210e9, rel=0.02)
    assert builder_devices(make_spec(), LLAMA_70B, 80 * GIB) is None

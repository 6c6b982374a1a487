"""Every memory fact that users reported elsewhere, as a number of the plan.

Sources by issue: what went wrong there must be told here before a build.
"""

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB, GPUS
from controlplane.domain.facts.precision_support import stored_refusal
from controlplane.domain.facts.rank_shares import divides_heads
from controlplane.domain.memory import (
    GpuOffer,
    builder_devices,
    fit,
    longest_sequence,
    plan,
)
from controlplane.domain.rules import DeviceOffer
from controlplane.domain.rules.examples import LLAMA_70B
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.cases import lines
from tests.domain.facts.test_checkpoints import LAYERS_LEFT_OUT
from tests.domain.memory.models import LLAMA_8B, planned, public, spec_for


def test_tensorrt_llm_1331_seventy_billion_in_fp8_peaks_above_210_gb() -> None:
    spec = spec_for("H100:2", quantization_type="fp8_kv", tensor_parallel_count=2)
    need = builder_devices(spec, LLAMA_70B, 80 * GIB)
    assert need is not None
    assert need.peak_bytes >= 210e9
    assert need.devices == 4
    serving = planned(LLAMA_70B, "H100:2", quantization_type="fp8_kv", max_seq_len=8192)
    assert serving.verdict == "fits"


def test_tensorrt_llm_2043_activations_grow_with_batch_and_tokens() -> None:
    mixtral = public("mistralai/Mixtral-8x7B-v0.1")
    request = planned(mixtral, "A100:2", max_batch_size=2048, max_num_tokens=2048)
    fewer = planned(mixtral, "A100:2", max_batch_size=256, max_num_tokens=2048)
    assert request.activations_bytes > fewer.activations_bytes


@pytest.mark.parametrize("issue", ["NVIDIA/TensorRT-LLM#2586", "huggingface-llama-recipes#21"])
def test_405_billion_in_fp8_are_refused_on_eight_a100_before_any_download(issue: str) -> None:
    stored = public("meta-llama/Meta-Llama-3.1-405B")
    fp8 = checkpoints.read(
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16_384,
         "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8,
         "intermediate_size": 53_248, "vocab_size": 128_256, "tie_word_embeddings": False,
         "quantization_config": {"quant_method": "fbgemm_fp8"}}
    )  # fmt: skip
    assert fp8.parameters == stored.parameters
    refusal = stored_refusal(fp8, GPUS["A100"], RUNTIMES["trtllm"].memory.precisions)
    assert refusal is not None
    assert "8.9" in refusal, issue
    assert not fit(
        fp8,
        [GpuOffer(kind="A100", count=8, memory_bytes=80 * GIB)],
        runtime=RUNTIMES["trtllm"].memory,
        spec=spec_for(),
    )
    h100 = fit(
        fp8, [GpuOffer(kind="H100", count=8, memory_bytes=80 * GIB)],
        runtime=RUNTIMES["trtllm"].memory, spec=spec_for(max_seq_len=8192),
    )  # fmt: skip
    assert {row.devices for row in h100} == {8}


@pytest.mark.parametrize(("heads", "ranks"), [(40, 3), (28, 8), (64, 3), (32, 3)])
def test_heads_that_ranks_do_not_divide_are_told(heads: int, ranks: int) -> None:
    facts = CheckpointFacts(attention_heads=heads, kv_heads=heads)
    assert not divides_heads(facts, ranks)


def test_vllm_2418_the_longest_length_of_a_small_device_is_told() -> None:
    """Default length 4,096 where the cache holds fewer tokens."""
    llama2_7b = checkpoints.read(
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
         "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11_008,
         "vocab_size": 32_000, "max_position_embeddings": 4096, "dtype": "float16"}
    )  # fmt: skip
    small = DeviceOffer(kind="T4", count=1, memory_bytes=int(18.0 * GIB))
    outcome = plan(spec_for("T4", max_num_tokens=2048), llama2_7b, small, RUNTIMES["trtllm"].memory)
    assert 0 < outcome.kv_tokens < 4096
    assert outcome.verdict == "does_not_fit"
    assert 0 < longest_sequence(outcome) <= outcome.kv_tokens


def test_vllm_4096_against_131072_on_a_device_of_24_gib() -> None:
    """GPUStack passes a Llama-8B with 131,072 tokens on 24 GB; one request alone needs 16 GiB."""
    device = DeviceOffer(kind="L4", count=2, memory_bytes=24 * GIB)
    one = plan(spec_for("L4", max_seq_len=131_072), LLAMA_8B, device, RUNTIMES["trtllm"].memory)
    assert one.layout.request_bytes(131_072) == 16 * GIB
    assert one.verdict == "does_not_fit"
    assert (
        plan(spec_for("L4", max_seq_len=4096), LLAMA_8B, device, RUNTIMES["trtllm"].memory).verdict
        == "fits"
    )
    half = plan(
        spec_for("L4", quantization_type="fp8"), LLAMA_8B, device, RUNTIMES["trtllm"].memory
    )
    assert half.weights_bytes == pytest.approx(one.weights_bytes * 0.57, rel=0.02)


def test_gpustack_611_the_fraction_is_of_what_is_left() -> None:
    whole = planned(LLAMA_8B, "L4", max_seq_len=2048)
    free = whole.device_bytes - whole.fixed_bytes
    assert whole.kv_cache_bytes == pytest.approx(0.9 * free, rel=0.01)


def test_a_32b_coder_is_calibrated_on_two_devices_and_served_on_one() -> None:
    """The seeds' own example: FP8 on one H100, `num_builder_gpus: 2`."""
    qwen = public("Qwen/Qwen3-32B")
    spec = spec_for(quantization_type="fp8")
    need = builder_devices(spec, qwen, 80 * GIB)
    assert need is not None
    assert need.devices == 2
    serving = planned(qwen, quantization_type="fp8", max_seq_len=32_768)
    assert serving.full_length_requests >= 1


def test_the_configurators_budget_for_llama_8b_on_an_h100_is_met() -> None:
    """aiconfigurator 0.12: 16.06 GB of weights, 448,675 tokens in 16 bits, 897,350 in FP8."""
    sixteen = planned(LLAMA_8B, max_seq_len=8192, max_num_tokens=8192)
    assert sixteen.weights_bytes == pytest.approx(16.06e9, rel=0.005)
    assert sixteen.kv_tokens == pytest.approx(448_675, rel=0.01)
    eight = planned(LLAMA_8B, quantization_type="fp8_kv", max_seq_len=8192)
    assert eight.kv_tokens > 2 * sixteen.kv_tokens
    assert eight.kv_bytes_per_token * 2 == sixteen.kv_bytes_per_token


def test_every_public_shape_that_can_be_planned_is_planned_as_recorded() -> None:
    """The KV bytes per token of each public file, where it says enough."""
    compared = 0
    for case in lines("hf_configs.jsonl"):
        recorded = case["facts"].get("kv_bytes_per_token_bf16")
        facts = checkpoints.read(
            {**_as_file(case["facts"]), "vocab_size": case["facts"].get("vocab", 32_000)}
        )
        if not recorded or not facts.groups or facts.parameters is None:
            continue
        if facts.model_type in LAYERS_LEFT_OUT:
            continue
        outcome = planned(facts, "B300", max_seq_len=1024)
        assert outcome.to_json()["model"]["kv_bytes_per_token"] == recorded, case["id"]
        compared += 1
    assert compared >= 80


def _as_file(facts: dict[str, object]) -> dict[str, object]:
    names = {
        "layers": "num_hidden_layers", "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads", "intermediate": "intermediate_size",
        "max_pos": "max_position_embeddings", "tie": "tie_word_embeddings",
        "experts": "num_local_experts", "moe_intermediate": "moe_intermediate_size",
    }  # fmt: skip
    return {names.get(key, key): value for key, value in facts.items()}

"""Plans on GPUs: precision, division, experts, adapters, drafts, encoders."""

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.gpus import MIB
from controlplane.domain.memory import UnplannableError, plan
from controlplane.domain.rules.examples import BERT, LLAMA_70B
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_mapping
from tests.domain.memory.models import (
    LLAMA_8B,
    QWEN3_8B,
    QWEN3_32B_FP8,
    device,
    planned,
    public,
    spec_for,
)

LOOKAHEAD = {
    "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 1,
    "lookahead_ngram_size": 8, "lookahead_verification_set_size": 1,
}  # fmt: skip


def test_computed_weights_of_qwen3_8b_in_each_precision() -> None:
    gigabytes = {
        name: round(planned(QWEN3_8B, quantization_type=name).weight_bytes / 1e9, 1)
        for name in ("no_quant", "fp8", "fp4", "fp4_mlp_only")
    }
    assert gigabytes == {"no_quant": 16.4, "fp8": 9.4, "fp4": 6.4, "fp4_mlp_only": 8.6}


@pytest.mark.parametrize(
    ("name", "size"), [("no_quant", 2), ("fp8", 2), ("fp8_kv", 1), ("fp4", 2), ("fp4_kv", 1)]
)
def test_the_cache_has_the_precision_that_the_type_names(name: str, size: int) -> None:
    found = planned(LLAMA_8B, quantization_type=name)
    assert found.kv_bytes_per_token == 65_536 * size
    assert found.to_json()["model"]["kv_bytes_per_token"] == 131_072


def test_a_checkpoint_that_comes_with_an_fp8_cache_is_planned_with_one() -> None:
    exported = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    facts = checkpoints.read(
        {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14_336,
         "vocab_size": 128_256, "tie_word_embeddings": False},
        hf_quant_config=exported,
    )  # fmt: skip
    assert planned(facts).kv_element_bytes == 1


@pytest.mark.parametrize(("numbers", "gigabytes"), [(None, 155), ("fp4", 155), ("fp8", 285)])
def test_experts_of_deepseek_v4_are_counted_in_four_bits(
    numbers: str | None, gigabytes: int
) -> None:
    shape = {
        "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4",
        "hidden_size": 4096, "num_hidden_layers": 43, "num_attention_heads": 64,
        "num_key_value_heads": 1, "head_dim": 512, "vocab_size": 129_280,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6,
        "moe_intermediate_size": 2048, "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }  # fmt: skip
    named = {} if numbers is None else {"expert_dtype": numbers}
    stored = checkpoints.read({**shape, **named}).stored_weight_bytes
    assert stored is not None
    assert round(stored / 1e9) == gigabytes


def test_seventy_billion_take_two_devices_in_fp8_and_four_in_sixteen_bits() -> None:
    assert not planned(LLAMA_70B, "H100:1", quantization_type="fp8_kv", max_num_tokens=16_384
                       ).full_length_requests  # fmt: skip
    assert planned(LLAMA_70B, "H100:2", quantization_type="fp8_kv").verdict == "fits"
    assert not planned(LLAMA_70B, "H100:1").weights_fit
    assert planned(LLAMA_70B, "H100:4").verdict == "fits"


def test_four_stages_divide_what_four_ranks_divide() -> None:
    ranks = planned(LLAMA_70B, "H100:4")
    stages = planned(LLAMA_70B, "H100:4", pipeline_parallel_count=4)
    assert ranks.devices == stages.devices == 4
    assert stages.weights_bytes == ranks.weights_bytes
    assert "communication at this parallelism" in stages.estimates


def test_experts_are_divided_and_an_uneven_division_costs_the_fullest_rank() -> None:
    qwen = public("Qwen/Qwen3-235B-A22B")
    even = planned(qwen, "H200:8", moe_expert_parallel_option=8)
    odd = planned(qwen.model_copy(update={"experts": 130}), "H200:8", moe_expert_parallel_option=8)
    assert even.weights_bytes == planned(qwen, "H200:8").weights_bytes
    assert odd.weights_bytes > even.weights_bytes
    assert even.parallelism.expert == 8


def test_adapters_take_memory_by_rank_and_target() -> None:
    two = {name: {"source": "HF", "repo": f"owner/{name}"} for name in ("a", "b")}

    def adapters(rank: int, *targets: str) -> int:
        return planned(
            LLAMA_8B,
            lora_adapters=two,
            lora_configuration={"max_lora_rank": rank, "lora_target_modules": list(targets)},
        ).adapters_bytes  # fmt: skip

    assert adapters(16, "attn_q", "attn_v") == 2 * 16 * 2 * 32 * ((4096 + 4096) + (4096 + 1024))
    assert adapters(32, "attn_q", "attn_v") == 2 * adapters(16, "attn_q", "attn_v")
    assert adapters(16) > adapters(16, "attn_q", "attn_v")


def test_drafts_lengthen_each_request_and_raise_the_tokens_of_a_step() -> None:
    plain = planned(LLAMA_8B, max_seq_len=4096, max_batch_size=64)
    fast = planned(LLAMA_8B, max_seq_len=4096, max_batch_size=64, speculator=LOOKAHEAD)
    assert (plain.drafting.tokens, fast.drafting.tokens) == (0, 13)
    assert fast.activations_bytes > plain.activations_bytes
    assert fast.full_length_requests < plain.full_length_requests
    many = planned(LLAMA_8B, max_batch_size=2048, speculator=LOOKAHEAD)
    assert many.step_tokens == 2048 * 14


def test_activations_grow_with_batch_and_with_tokens() -> None:
    mixtral = public("mistralai/Mixtral-8x7B-v0.1")
    small = planned(mixtral, "A100:2", max_num_tokens=2048)
    batch = planned(mixtral, "A100:2", max_num_tokens=2048, max_batch_size=2048)
    tokens = planned(mixtral, "A100:2", max_num_tokens=8192)
    assert batch.activations_bytes > small.activations_bytes
    assert tokens.activations_bytes > small.activations_bytes


def test_v2_drafts_and_cache_type_come_from_the_engines_arguments() -> None:
    engine = {
        "inference_stack": "v2",
        "build": {"checkpoint_repository": {"source": "HF", "repo": "o/m"}},
        "runtime": {"tensor_parallel_size": 8, "patch_kwargs": {
            "kv_cache_config": {"dtype": "fp8"}, "moe_expert_parallel_size": 4,
            "speculative_config": {"decoding_type": "MTP", "num_nextn_predict_layers": 1}}},
    }  # fmt: skip
    spec = parse_mapping({"trt_llm": engine, "resources": {"accelerator": "B200:8"}}).spec
    assert spec is not None
    found = plan(spec, public("deepseek-ai/DeepSeek-R1"), device("B200"), RUNTIMES["trtllm"].memory)
    assert (found.kv_element_bytes, found.drafting.tokens, found.parallelism.expert) == (1, 1, 4)
    assert found.drafting.uses_prediction_layers


def test_prediction_layers_are_left_out_unless_they_are_asked_for() -> None:
    case = public("deepseek-ai/DeepSeek-R1")
    assert case.counts is not None
    whole = 2 * (case.counts.total + case.counts.draft)
    stored = case.model_copy(update={"weight_bytes": whole})
    assert planned(stored, "B300:8").weight_bytes == pytest.approx(2 * case.counts.total, rel=1e-6)
    assert not stored.weights_disagree


def test_float32_files_are_held_in_sixteen_bits() -> None:
    facts = LLAMA_8B.model_copy(update={"dtype": "float32"})
    assert planned(facts).weight_bytes == planned(LLAMA_8B).weight_bytes


def test_an_encoder_keeps_no_cache_and_counts_by_the_tokens_of_a_step() -> None:
    found = planned(BERT, "L4", base_model="encoder_bert", max_seq_len=512)
    assert (found.kv_cache_bytes, found.kv_tokens) == (0, 0)
    assert found.full_length_requests == 16_384 // 512
    assert found.binding == "max_num_tokens"
    assert found.verdict == "fits"


def test_the_plan_names_what_it_only_estimates() -> None:
    exact = QWEN3_32B_FP8.model_copy(update={"weight_bytes": 34_000_000_000})
    assert planned(exact, "H100:2").estimates == ()
    words = planned(public("Qwen/Qwen3.5-35B-A3B"), "L40S:8", "vllm").estimates
    assert any("vllm" in word for word in words)
    assert any("L40S" in word for word in words)
    assert any("states" in word for word in words)
    assert any("experts" in word for word in words)


def test_a_hybrid_without_its_pattern_says_that_every_layer_counts() -> None:
    facts = checkpoints.read(
        {"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48,
         "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
         "vocab_size": 151_936, "intermediate_size": 5120}
    )  # fmt: skip
    found = planned(facts)
    assert found.kv_bytes_per_token == 98_304
    assert any("no pattern" in word for word in found.estimates)


def test_the_native_engine_refuses_a_state() -> None:
    hybrid = public("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    with pytest.raises(UnplannableError, match="state"):
        plan(spec_for(), hybrid, device("H100"), RUNTIMES["native"].memory)


def test_the_longest_request_ends_at_the_models_own_limit() -> None:
    found = planned(QWEN3_8B, max_seq_len=4096)
    assert found.longest_sequence_tokens == 40_960
    small = planned(LLAMA_8B, "L4", max_seq_len=131_072)
    assert small.full_length_requests == 0
    assert 0 < small.longest_sequence_tokens < small.kv_tokens + 32
    assert small.verdict == "does_not_fit"


def test_a_typical_length_is_counted_beside_the_full_one() -> None:
    found = planned(LLAMA_8B, max_seq_len=131_072)
    assert found.requests_at_4096 == pytest.approx(32 * found.kv_tokens / 131_072, abs=1)
    assert planned(LLAMA_8B, max_seq_len=1024).requests_at_4096 == planned(
        LLAMA_8B, max_seq_len=1024
    ).requests_of(1024)


def test_a_device_of_one_request_more_than_planned_is_tight_on_an_h100() -> None:
    lengths = range(60_000, 131_072, 4096)
    plans = [planned(LLAMA_70B, "H100:2", quantization_type="fp8_kv", max_seq_len=n)
             for n in lengths]  # fmt: skip
    tight = [found for found in plans if found.full_length_requests == 1]
    assert all(found.verdict == "tight" for found in tight)
    assert {found.verdict for found in plans} <= {"fits", "tight"}
    assert plans[0].device_bytes == 81_559 * MIB


def test_weights_left_in_host_memory_are_not_counted_on_the_gpu() -> None:
    mapping = {
        "resources": {"accelerator": "A10G"},
        "trt_llm": {"build": {"checkpoint_repository": {"source": "LOCAL", "repo": "/x"}}},
        "enginehouse": {"runtime": "vllm", "vllm_args": {"cpu-offload-gb": 4}},
    }
    memory = RUNTIMES["vllm"].memory
    with_offload = parse_mapping(mapping).spec
    del mapping["enginehouse"]["vllm_args"]
    without = parse_mapping(mapping).spec
    assert with_offload is not None
    assert without is not None
    whole = plan(without, LLAMA_8B, device("A10G"), memory)
    found = plan(with_offload, LLAMA_8B, device("A10G"), memory)
    assert whole.weights_bytes - found.weights_bytes == 4 << 30
    assert found.kv_cache_bytes > whole.kv_cache_bytes


def test_a_family_that_float16_breaks_takes_twice_the_memory_before_ampere() -> None:
    memory = RUNTIMES["vllm"].memory
    gemma = LLAMA_8B.model_copy(update={"model_type": "gemma2"})
    bfloat, wide = (plan(spec_for(), gemma, device(kind), memory) for kind in ("L4", "T4"))
    assert wide.weight_bytes == 2 * bfloat.weight_bytes
    assert wide.kv_element_bytes == 4
    assert "float32 in place of 16 bits, as T4 has no bfloat16" in wide.estimates
    llama = plan(spec_for(), LLAMA_8B, device("T4"), memory)
    assert llama.weight_bytes == bfloat.weight_bytes

"""Reading a checkpoint's small files: every spelling, and whatever else they hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.kv_cache import kv_bytes_per_token
from controlplane.domain.rules import Known, every_kind, examine
from controlplane.domain.rules.examples import Example
from tests.domain.cases import as_config_json, lines
from tests.examples import examples

CASES = lines("hf_configs.jsonl")
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
    "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49_152,
    "max_position_embeddings": 8192, "tie_word_embeddings": True,
}  # fmt: skip


def test_smollm2_is_counted_to_the_parameter() -> None:
    facts = checkpoints.read(LLAMA)
    assert facts.parameters == 134_515_008
    assert facts.stored_weight_bytes == 269_030_016
    assert (facts.head_dim, facts.kv_heads, facts.dtype) == (64, 3, "bfloat16")
    assert facts.role is Role.CAUSAL
    assert facts.parameters_estimated


@pytest.mark.wide
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_public_checkpoint_makes_reader_or_rules_raise(case: dict[str, Any]) -> None:
    for config in (case["facts"], as_config_json(case["facts"])):
        facts = checkpoints.read(config)
        assert CheckpointFacts.model_validate(facts.model_dump(mode="json")) == facts
        for changes in ({}, {"resources.accelerator": "H100"}):
            example = Example(config=changes)
            known = Known(checkpoint=facts, devices=every_kind(cpu_memory_bytes=2**35))
            examine(example.content, known)


LAYERS_LEFT_OUT = {"rwkv", "rwkv5", "rwkv6", "deepseek_v4", "mimo_v2_flash"}
"""The cases of these families do not say which layers keep what, and count them all alike."""


def test_kv_bytes_agree_with_the_recorded_ones() -> None:
    for case in CASES:
        recorded = case["facts"].get("kv_bytes_per_token_bf16")
        facts = checkpoints.read(as_config_json(case["facts"]))
        ours = kv_bytes_per_token(facts, element_bytes=2)
        if recorded and ours and facts.model_type not in LAYERS_LEFT_OUT:
            assert ours == recorded, case["id"]


def test_dense_families_are_counted_within_one_percent() -> None:
    dense = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3")
    compared = 0
    for case in CASES:
        facts = checkpoints.read(as_config_json(case["facts"]))
        recorded = case["facts"].get("params")
        if recorded and facts.parameters and facts.model_type in dense and not facts.has_vision:
            assert facts.parameters == pytest.approx(recorded, rel=0.01), case["id"]
            compared += 1
    assert compared >= 10


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"text_config": LLAMA, "vision_config": {"a": 1}}, {"layers": 30, "has_vision": True}),
        ({**LLAMA, "num_key_value_heads": None}, {"kv_heads": 9}),
        ({**LLAMA, "head_dim": 128}, {"head_dim": 128}),
        ({**LLAMA, "dtype": "torch.float16"}, {"dtype": "float16"}),
        ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
          "vocab_size": 50_257, "n_inner": None},
         {"hidden_size": 768, "layers": 12, "max_positions": 1024, "kv_heads": 12}),
        ({"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12,
          "hidden_dim": 3072}, {"hidden_size": 768, "layers": 6, "intermediate_size": 3072}),
        ({"num_layers": 28, "multi_query_attention": True, "multi_query_group_num": 2,
          "num_attention_heads": 32, "kv_channels": 128, "padded_vocab_size": 65_024,
          "ffn_hidden_size": 13_696, "seq_length": 8192},
         {"layers": 28, "kv_heads": 2, "head_dim": 128, "vocabulary_size": 65_024}),
        ({"model_type": "gpt_bigcode", "multi_query": True, "n_head": 48, "n_embd": 6144},
         {"kv_heads": 1}),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514}, {"max_positions": 512}),
        ({**LLAMA, "max_position_embeddings": 32_768,
          "rope_scaling": {"type": "yarn", "factor": 4.0,
                           "original_max_position_embeddings": 32_768}},
         {"max_positions": 131_072}),
        ({**LLAMA, "max_position_embeddings": 32_768,
          "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6,
                              "original_max_position_embeddings": 32_768}},
         {"max_positions": 131_072, "rope_type": "yarn"}),
        ({**LLAMA, "max_position_embeddings": 131_072,
          "rope_parameters": {"rope_type": "llama3", "factor": 8.0,
                              "original_max_position_embeddings": 8192}},
         {"max_positions": 131_072, "original_positions": 8192}),
        ({**LLAMA, "max_position_embeddings": 4096,
          "rope_scaling": {"type": "linear", "factor": 4.0}},
         {"max_positions": 16_384, "original_positions": 4096}),
        ({**LLAMA, "model_type": "gemma3_text", "max_position_embeddings": 131_072,
          "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0},
                              "sliding_attention": {"rope_type": "default"}}},
         {"max_positions": 131_072, "rope_factor": 8.0}),
        ({"model_type": "internvl_chat", "llm_config": LLAMA, "vision_config": {"a": 1}},
         {"layers": 30, "has_vision": True}),
        ({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": LLAMA}},
         {"layers": 30, "kv_heads": 3}),
        ({"model_type": "deepseek_vl_v2", "language_config": LLAMA}, {"layers": 30}),
        ({"text_config": {**LLAMA, "torch_dtype": "float16"}}, {"dtype": "float16"}),
        ({"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71,
          "multi_query": True, "new_decoder_architecture": False}, {"kv_heads": 1}),
        ({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
          "max_seq_len": 2048, "attn_config": {"kv_n_heads": 8}},
         {"hidden_size": 4096, "kv_heads": 8, "max_positions": 2048}),
        ({**LLAMA, "auto_map": {"AutoModel": "m.M"}}, {"remote_code": True}),
        ({"architectures": [], "hidden_size": "many", "num_hidden_layers": -1,
          "vocab_size": [1], "text_config": None}, {"architecture": None, "layers": None}),
    ],
)  # fmt: skip
def test_spellings_and_traps(config: dict[str, Any], expected: dict[str, Any]) -> None:
    facts = checkpoints.read(config)
    assert {name: getattr(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("block", "method", "is_fp8", "is_fp4"),
    [
        ({"quant_method": "fp8"}, "fp8", True, False),
        ({"quant_method": "gptq", "bits": 4}, "gptq", False, False),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt", False, True),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"g": {"weights": {"type": "float", "num_bits": 8}}}},
         "compressed-tensors", True, False),
    ],
)  # fmt: skip
def test_existing_quantization_is_recognised(
    block: dict[str, Any], method: str, is_fp8: bool, is_fp4: bool
) -> None:
    existing = checkpoints.read({**LLAMA, "quantization_config": block}).existing_quantization
    assert existing is not None
    assert (existing.method, existing.is_fp8, existing.is_fp4) == (method, is_fp8, is_fp4)


def test_an_export_of_modelopt_is_recognised_by_its_own_file() -> None:
    exported = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    existing = checkpoints.read(LLAMA, hf_quant_config=exported).existing_quantization
    assert existing is not None
    assert (existing.method, existing.algorithm, existing.kv_cache) == ("modelopt", "FP8", "FP8")


def test_what_the_file_list_says() -> None:
    without = checkpoints.read(LLAMA, files=["config.json", "adapter_model.safetensors"])
    full = checkpoints.read(
        LLAMA, files=["model.safetensors", "chat_template.jinja"], weight_bytes=5, parameters=3
    )
    assert (without.has_weights, without.has_chat_template) == (False, None)
    assert (full.has_weights, full.has_chat_template) == (True, True)
    assert (full.stored_weight_bytes, full.parameters, full.parameters_estimated) == (5, 3, False)
    plain = checkpoints.read(LLAMA, tokenizer_config={"eos_token": "x"})
    assert plain.has_chat_template is False


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@examples(120)
@given(st.dictionaries(st.sampled_from([
    *LLAMA, "text_config", "rope_scaling", "quantization_config", "head_dim", "num_local_experts",
    "sliding_window", "attn_config", "multi_query", "auto_map", "vision_config", "kv_lora_rank",
]), _json))  # fmt: skip
def test_the_reader_never_raises(config: dict[str, Any]) -> None:
    checkpoints.read(config, generation_config=config, tokenizer_config=config)

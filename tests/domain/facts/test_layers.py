"""What each kind of layer keeps of a request, by every way in which files say it."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.memory.kv_cache import kv_bytes_per_token
from tests.domain.cases import lines

SHAPE = {
    "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 4096, "vocab_size": 1000,
}  # fmt: skip
PUBLIC = {case["model"]: case["config"] for case in lines("parameter_counts.jsonl")}


def _counted(config: dict[str, Any]) -> dict[Mixer, int]:
    groups = checkpoints.read(config).groups
    values: dict[Mixer, int] = {}
    for group in groups:
        values[group.mixer] = values.get(group.mixer, 0) + group.count
    return values


@pytest.mark.parametrize(
    ("changes", "sliding"),
    [
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, 0),
        ({"model_type": "qwen2", "sliding_window": 4096}, 0),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True,
          "max_window_layers": 9}, 3),
        ({"model_type": "mistral", "sliding_window": 4096}, 12),
        ({"model_type": "mistral", "sliding_window": None}, 0),
        ({"model_type": "gemma2", "sliding_window": 4096}, 6),
        ({"model_type": "gemma3_text", "sliding_window": 512}, 10),
        ({"model_type": "gemma3_text", "sliding_window": 512, "sliding_window_pattern": 4}, 9),
        ({"model_type": "exaone4", "sliding_window": 512, "sliding_window_pattern": "LLLG"}, 9),
        ({"model_type": "x", "sliding_window": 128,
          "layer_types": ["sliding_attention", "full_attention"] * 6}, 6),
        ({"model_type": "x", "sliding_window": 128, "hybrid_layer_pattern": [0, 1, 1] * 4}, 8),
        ({"model_type": "llama4_text", "attention_chunk_size": 8192}, 9),
        ({"model_type": "x", "layer_types": ["sliding_attention"] * 12}, 0),
    ],
)  # fmt: skip
def test_windows_and_their_patterns(changes: dict[str, Any], sliding: int) -> None:
    counts = _counted({**SHAPE, **changes})
    assert counts.get(Mixer.SLIDING, 0) == sliding
    assert counts.get(Mixer.ATTENTION, 0) == 12 - sliding
    facts = checkpoints.read({**SHAPE, **changes})
    assert (facts.sliding_window is not None) == (sliding > 0)


@pytest.mark.parametrize(
    ("changes", "attending"),
    [
        ({"model_type": "qwen3_next", "full_attention_interval": 4, "linear_num_key_heads": 4,
          "linear_key_head_dim": 64, "linear_num_value_heads": 8, "linear_value_head_dim": 64}, 3),
        ({"model_type": "jamba", "attn_layer_period": 6, "attn_layer_offset": 2}, 2),
        ({"model_type": "bamba", "attn_layer_indices": [5], "mamba_n_heads": 16}, 1),
        ({"model_type": "lfm2", "full_attn_idxs": [2, 5, 8]}, 3),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*M-M*M-M-",
          "mamba_num_heads": 8, "mamba_head_dim": 64}, 2),
        ({"model_type": "kimi_linear", "kv_lora_rank": 128, "qk_rope_head_dim": 32,
          "linear_attn_config": {"full_attn_layers": [4, 8, 12], "num_heads": 4,
                                 "head_dim": 64}}, 3),
        ({"model_type": "mamba2", "n_groups": 1, "state_size": 64}, 0),
        ({"model_type": "rwkv6", "head_size": 64}, 0),
        ({"model_type": "recurrent_gemma",
          "block_types": ["recurrent", "recurrent", "attention"]}, 4),
    ],
)  # fmt: skip
def test_hybrids_keep_a_state_of_fixed_size(changes: dict[str, Any], attending: int) -> None:
    facts = checkpoints.read({**SHAPE, **changes})
    attends = sum(group.count for group in facts.groups if group.mixer.attends)
    assert attends == attending
    assert facts.keeps_state
    assert all(group.state_bytes > 0 for group in facts.groups if not group.mixer.attends)


def test_falcon_h1_attends_and_keeps_a_state_in_every_layer() -> None:
    counts = _counted({**SHAPE, "model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_d_head": 64})
    assert counts == {Mixer.ATTENTION: 12, Mixer.MAMBA: 12}


@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", 131_072),
        ("deepseek-ai/DeepSeek-R1", 61 * 576 * 2),
        ("deepseek-ai/DeepSeek-V3.2", 61 * 576 * 2),
        ("Qwen/Qwen3.5-27B", 16 * 2 * 4 * 256 * 2),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 6 * 2 * 2 * 128 * 2),
        ("openai/gpt-oss-20b", 24 * 2 * 8 * 64 * 2),
        ("XiaomiMiMo/MiMo-V2-Flash", (9 * 4 + 39 * 8) * (192 + 128) * 2),
        ("google/gemma-4-26B-A4B", (25 * 8 * 512 + 5 * 2 * 1024) * 2),
    ],
)
def test_keys_and_values_of_one_token(model: str, bytes_per_token: int) -> None:
    facts = checkpoints.read(PUBLIC[model])
    assert kv_bytes_per_token(facts, element_bytes=2) == bytes_per_token


def test_sparse_attention_keeps_an_index_beside_its_latent() -> None:
    group = checkpoints.read(PUBLIC["deepseek-ai/DeepSeek-V3.2"]).groups[0]
    assert (group.mixer, group.latent_numbers, group.index_bytes) == (Mixer.LATENT, 576, 132)


def test_layers_of_one_shape_follow_the_numbers_of_the_facts() -> None:
    facts = checkpoints.read({**SHAPE, "model_type": "llama"})
    assert facts.layer_groups == ()
    expected = LayerGroup(mixer=Mixer.ATTENTION, count=12, kv_heads=2, numbers_per_head=256)
    assert facts.groups == (expected,)
    assert facts.model_copy(update={"kv_heads": 4}).groups[0].kv_heads == 4
    assert facts.model_copy(update={"layers": None}).groups == ()


def test_each_block_of_a_searched_architecture_counts_by_itself() -> None:
    block = {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.0}}
    without = {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}}
    facts = checkpoints.read(
        {"model_type": "nemotron-nas", "architectures": ["DeciLMForCausalLM"],
         "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
         "num_key_value_heads": None, "intermediate_size": None, "vocab_size": 1000,
         "tie_word_embeddings": False, "block_configs": [block, without, block, without]}
    )  # fmt: skip
    assert facts.kv_heads == 2
    assert [(group.count, group.kv_heads) for group in facts.groups] == [(2, 2)]
    assert facts.counts is not None
    assert facts.counts.mlp == 2 * 3 * 1024 * 1536 + 2 * 3 * 1024 * 768

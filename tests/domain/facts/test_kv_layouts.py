"""What a token keeps, against a forward pass with a cache of each class on an empty device.

Recorded by `tests/model_classes/record_caches.py` from transformers 5.24.
"""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.memory.kv_cache import kv_bytes_per_token, layout_of
from tests.domain.cases import lines
from tests.every_case import every_case

RECORDED = lines("kv_layouts.jsonl")
ASKED = [case for case in RECORDED if "config" in case]
OTHERWISE = {
    # Keys and values are one tensor, which its cache in transformers holds twice, with a buffer
    # of what is not yet compressed.
    "deepseek_v4",
}
SHAPE = {
    "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 4096, "vocab_size": 1000,
}  # fmt: skip


def _numbers_a_token(facts: CheckpointFacts, group: LayerGroup, *, index: int) -> int:
    # Engines keep the index in one byte a number, and transformers as it keeps everything.
    indexed = index if group.index_bytes else 0
    kv_heads = group.kv_heads * group.numbers_per_head + group.latent_numbers + indexed
    return group.count * kv_heads // group.tokens_per_entry


@every_case("case", ASKED, ids=lambda case: case["class"])
def test_a_token_keeps_what_its_class_keeps(case: dict[str, Any]) -> None:
    facts = checkpoints.read(case["config"])
    if case["model_type"] in OTHERWISE:
        return
    index = numbers.number(case["config"], "index_head_dim") or 0
    kept = {
        sum(_numbers_a_token(facts, group, index=width) for group in facts.groups)
        for width in (0, index)  # not every class caches its index
    }
    assert case["numbers_a_token"] in kept
    assert not facts.unknown_kv_layers


def test_most_classes_that_generate_were_asked() -> None:
    assert len(ASKED) >= 150
    assert {case["model_type"] for case in RECORDED} >= {"llama", "gemma4_text", "zamba2", "dory"}


def test_a_family_that_nobody_looked_at_is_not_counted_in_silence() -> None:
    facts = checkpoints.read({**SHAPE, "model_type": "never_seen"})
    assert facts.unknown_kv_layers == 12
    assert kv_bytes_per_token(facts, element_bytes=2) == 12 * 2 * 2 * 128 * 2
    assert kv_bytes_per_token(facts, element_bytes=2, at_least=True) == 0


def test_a_word_for_a_layer_that_is_not_known_makes_a_range() -> None:
    kinds = ["full_attention", "gated_echo_attention", "full_attention"] * 4
    facts = checkpoints.read({**SHAPE, "model_type": "llama", "layer_types": kinds})
    assert facts.unknown_kv_layers == 4
    high = kv_bytes_per_token(facts, element_bytes=2)
    low = kv_bytes_per_token(facts, element_bytes=2, at_least=True)
    assert (low, high) == (8 * 1024, 12 * 1024)


def test_deepseek_v4_keeps_a_window_and_compressed_entries() -> None:
    config = {
        "model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 4,
        "num_attention_heads": 64, "num_key_value_heads": 1, "head_dim": 512,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 6,
        "vocab_size": 129_280, "sliding_window": 128, "compress_ratios": [0, 4, 128, 4],
        "index_head_dim": 128,
    }  # fmt: skip
    facts = checkpoints.read(config)
    assert [(group.mixer, group.count, group.tokens_per_entry) for group in facts.groups] == [
        (Mixer.SLIDING, 4, 1), (Mixer.LATENT, 2, 4), (Mixer.LATENT, 1, 128),
    ]  # fmt: skip
    layout = layout_of(facts, element_bytes=2)
    assert layout is not None
    window, sparse, heavy = 4 * 512 * 2, 2 * (512 * 2 + 132) // 4, 512 * 2 // 128
    assert layout.request_bytes(100_000) == 128 * window + 100_000 * (sparse + heavy)


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        ({"model_type": "gemma3n_text", "num_kv_shared_layers": 4}, 8),
        ({"model_type": "gemma4_text", "num_kv_shared_layers": 10}, 2),
        ({"model_type": "hunyuan", "use_cla": True, "cla_share_factor": 2,
          "layer_types": ["full_attention"] * 12}, 6),
        ({"model_type": "longcat_flash", "num_layers": 12}, 24),
    ],
)  # fmt: skip
def test_layers_that_share_or_double_their_cache(changes: dict[str, Any], layers: int) -> None:
    facts = checkpoints.read({**SHAPE, **changes})
    assert sum(group.count for group in facts.groups) == layers


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
          "vocab_size": 100_352, "max_seq_len": 32_768,
          "attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10_752}},
         40 * 2 * 8 * 128),
        ({"model_type": "voxtral", "architectures": ["VoxtralForConditionalGeneration"],
          "text_config": {**SHAPE, "model_type": "llama", "num_hidden_layers": 30,
                          "num_key_value_heads": 8},
          "audio_config": {"model_type": "voxtral_encoder", "num_hidden_layers": 32,
                           "num_attention_heads": 20, "hidden_size": 1280}},
         30 * 2 * 8 * 128),
        ({**SHAPE, "model_type": "phi4_multimodal", "num_attention_heads": 24,
          "num_key_value_heads": 8, "hidden_size": 3072, "num_hidden_layers": 32},
         32 * 2 * 8 * 128),
    ],
    ids=["dbrx", "voxtral", "phi4_multimodal"],
)  # fmt: skip
def test_what_speaks_in_other_words_keeps_what_its_text_layers_keep(
    config: dict[str, Any], kept: int
) -> None:
    assert kv_bytes_per_token(checkpoints.read(config), element_bytes=2) == 2 * kept

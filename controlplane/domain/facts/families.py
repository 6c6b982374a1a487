"""What a model family does that its `config.json` need not say.

Source: the configuration and modelling code of transformers 5.24, read 2026-11-28. A number that is
filled in from here is listed among the assumed ones.
"""

from collections.abc import Mapping
from types import MappingProxyType

Defaults = Mapping[str, int]

_LLAMA: Defaults = {"hidden_size": 4096, "layers": 32, "attention_heads": 32,
                    "intermediate_size": 11_008, "vocabulary_size": 32_000}  # fmt: skip
_MISTRAL: Defaults = {**_LLAMA, "intermediate_size": 14_336, "kv_heads": 8}
_GEMMA3: Defaults = {"attention_heads": 8, "kv_heads": 4, "head_dim": 256,
                     "vocabulary_size": 262_208, "max_positions": 131_072}  # fmt: skip
_MLA: Defaults = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
_DEEPSEEK_V3: Defaults = {**_MLA, "q_lora_rank": 1536, "kv_lora_rank": 512,
                          "first_dense_layers": 3, "shared_experts": 1}  # fmt: skip
_DSA: Defaults = {"index_n_heads": 64, "index_head_dim": 128}

WHEN_UNSAID: Mapping[str, Defaults] = MappingProxyType({
    "llama": _LLAMA,
    "mistral": _MISTRAL,
    "gemma3_text": _GEMMA3,
    "mimo_v2_flash": {"swa_num_key_value_heads": 8},
    "gemma3n_text": {"num_kv_shared_layers": 15},
    "deepseek": {"first_dense_layers": 1, "shared_experts": 2},
    "deepseek_v2": {**_MLA, "first_dense_layers": 1, "shared_experts": 2},
    "deepseek_v3": _DEEPSEEK_V3,
    "deepseek_v32": {**_DEEPSEEK_V3, **_DSA},
    "kimi_k2": {**_DEEPSEEK_V3, "first_dense_layers": 1},
    "glm_moe_dsa": {**_DEEPSEEK_V3, **_DSA, "q_lora_rank": 2048, "qk_nope_head_dim": 192,
                    "v_head_dim": 256, "index_n_heads": 32},
    "glm4_moe": {"first_dense_layers": 3, "shared_experts": 1},
    "gpt_oss": {"experts_per_token": 4},
    "qwen2_moe": {"shared_width": 5632},
    "qwen3_next": {"shared_width": 512},
    "qwen3_5_moe_text": {"shared_width": 512},
    "deepseek_v4": {"q_lora_rank": 1024, "shared_experts": 1, "o_lora_rank": 1024, "o_groups": 8,
                    "hc_mult": 4, **_DSA},
    "deepseek_ref": {"q_lora_rank": 1024, "shared_experts": 1, "o_lora_rank": 1024, "o_groups": 8,
                     "hc_mult": 4, **_DSA},
    "llama4_text": {"shared_experts": 1, "attention_chunk_size": 8192},
})  # fmt: skip
"""Dimensions of a family that a file may leave out, because its code has them as defaults."""

DEEPSEEK_V4_MODEL_TYPES = frozenset({"deepseek_v4", "deepseek_ref"})

ATTENTIONS_PER_LAYER: Mapping[str, int] = MappingProxyType({"longcat_flash": 2})
"""Attentions one after the other in one layer, each with keys and values of its own."""

SLIDING_EVERY: Mapping[str, int] = MappingProxyType({
    "gemma2": 2, "gemma3_text": 6, "gemma3": 6, "gemma4_text": 6, "gpt_oss": 2, "cohere2": 4,
    "olmo3": 4, "ministral": 4, "exaone4": 4,
})  # fmt: skip
"""One layer in so many sees the whole context where the file has a window and no pattern."""
SLIDES_IF_SET = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe"})
"""The window counts only with `use_sliding_window`."""

TIED_UNLESS_SET = frozenset(
    {"gemma", "gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text", "gpt2", "gpt_bigcode",
     "bert", "roberta", "distilbert", "cohere", "cohere2", "starcoder2", "falcon", "opt", "mpt",
     "bloom", "mamba", "lfm2", "albert", "modernbert"}
)  # fmt: skip

TWO_MATRIX_MLP = frozenset(
    {"gpt2", "gpt_neox", "gptj", "gpt_bigcode", "phi", "phi-msft", "starcoder2", "opt", "bloom",
     "falcon", "mpt", "nemotron", "nemotron_h", "gpt_neo", "codegen", "arcee", "apertus"}
)  # fmt: skip
GATED_ENCODERS = frozenset({"modernbert", "nomic_bert", "new", "jina_bert"})
LEARNED_POSITIONS = frozenset({"gpt2", "gpt_bigcode", "opt", "gpt_neo"})
BIASED = frozenset({"gpt2", "gpt_neox", "gpt_bigcode", "phi", "phi-msft", "opt", "bloom",
                    "starcoder2", "gpt_neo"})  # fmt: skip
"""Every linear layer has a bias, and every norm two vectors."""
FOUR_NORMS = frozenset({"gemma2", "gemma3", "gemma3_text", "gemma4_text", "gpt_neox"})
UNCOUNTED = frozenset(
    {"gemma3n", "gemma3n_text", "t5", "mt5", "whisper", "deberta", "deberta-v2", "rwkv", "rwkv5",
     "rwkv6", "recurrent_gemma", "zamba", "zamba2", "yuan", "nystromformer", "electra", "git"}
)  # fmt: skip
"""Layers that this count does not describe; the headers of their weight files say it exactly."""

HALVED_MLP = frozenset({"qwen"})
"""Families whose files give the widths of both halves of a gated MLP together."""

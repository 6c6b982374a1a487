"""Tiny random checkpoints, one of each shape that the engine serves."""

from pathlib import Path

import torch
import transformers

from tests.tiny_checkpoint import VOCABULARY, write_tokenizer

COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_range": 0.2,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "original_max_position_embeddings": 64,
    "short_factor": [1.0 + 0.1 * at for at in range(8)],
    "long_factor": [2.0 + 0.5 * at for at in range(8)],
}
UNTIED = {"tie_word_embeddings": False}
"""Gemma's scaled embeddings, tied and random, would repeat a prompt's last token for ever."""
SHAPES = {
    "llama": ("LlamaForCausalLM", {}),
    "llama-tied-rope3": (
        "LlamaForCausalLM", {"tie_word_embeddings": True, "rope_parameters": LLAMA3_ROPE},
    ),
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen2-window": (
        "Qwen2ForCausalLM",
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 32}),
    "mistral": ("MistralForCausalLM", {"sliding_window": None}),
    "mistral-window": ("MistralForCausalLM", {"sliding_window": 16}),
    "gemma2": (
        "Gemma2ForCausalLM",
        {**UNTIED, "head_dim": 16, "query_pre_attn_scalar": 48, "sliding_window": 16,
         "attn_logit_softcapping": 5.0, "final_logit_softcapping": 9.0},
    ),
    "gemma3": (
        "Gemma3ForCausalLM",
        {**UNTIED, "head_dim": 24, "query_pre_attn_scalar": 40, "sliding_window": 16,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    ),
    "phi3": ("Phi3ForCausalLM", {"sliding_window": None}),
    "phi3-window": ("Phi3ForCausalLM", {"sliding_window": 16, "partial_rotary_factor": 0.5}),
    "phi3-longrope": (
        "Phi3ForCausalLM",
        {"sliding_window": None, "rope_parameters": LONG_ROPE,
         "original_max_position_embeddings": 64},
    ),
    "no-groups": ("LlamaForCausalLM", {"num_key_value_heads": 4}),
}  # fmt: skip


def make_shape(name: str, folder: Path) -> Path:
    """Fill `folder` with the shape of that name; the same numbers each time."""
    architecture, changes = SHAPES[name]
    model_class = getattr(transformers, architecture)
    torch.manual_seed(3)
    model_class(model_class.config_class(**{**COMMON, **changes})).save_pretrained(folder)
    write_tokenizer(folder)
    return folder

"""Which part of a model a parameter belongs to, by its name."""

from collections.abc import Mapping
from types import MappingProxyType

_SHARED = ("shared_expert", "shared_mlp")
"""Experts that every token passes."""
_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "vision": ("vision", "visual", "image", "audio", "speech", "vqmodel", "multi_modal_projector"),
    "experts": ("experts.", "expert_", "block_sparse_moe.input_linear",
                "block_sparse_moe.output_linear"),
    "tables": ("embed_tokens", "lm_head", "word_embeddings", "wte.", "shared.weight", "embed_in",
               "embed_out", "decoder.weight", "tok_embeddings", "embeddings.weight"),
    "attention": ("attn", "attention", "mixer", "mamba", "temporal_block", "conv.", "indexer",
                  "q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("mlp", "ffn", "feed_forward", "relu", "intermediate", "output.dense", "fc1", "fc2",
            "ff.", "layer_1", ".lin"),
})  # fmt: skip


def part_of(name: str) -> str:
    """Return `tables`, `attention`, `mlp`, `experts`, `vision` or `other`."""
    lower = name.lower()
    if any(word in lower for word in _SHARED):
        return "mlp"
    return next((part for part, words in _WORDS.items() if any(w in lower for w in words)), "other")

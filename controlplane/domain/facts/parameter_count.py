"""How many parameters a shape has, for the families whose layers are plain enough to count."""

from dataclasses import dataclass

from controlplane.domain.facts.architectures import ENCODER_MODEL_TYPES, RECURRENT_MODEL_TYPES

_TWO_MATRIX_MLP = frozenset(
    {"gpt2", "gpt_neox", "gptj", "gpt_bigcode", "phi", "phi-msft", "starcoder2", "opt", "bloom",
     "falcon", "mpt", "nemotron", "gpt_neo"}
) | ENCODER_MODEL_TYPES  # fmt: skip
_LEARNED_POSITIONS = frozenset({"gpt2", "gpt_bigcode", "opt", "gpt_neo"}) | ENCODER_MODEL_TYPES
_UNCOUNTED = frozenset({"albert", "llama4", "llama4_text", "mllama", "mllama_text_model"})
"""Layers that share weights or alternate in kind."""
_QKV_BIAS = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"})


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The sizes of a transformer, as far as its `config.json` gives them."""

    model_type: str | None
    layers: int | None
    hidden_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    intermediate_size: int | None
    vocabulary_size: int | None
    positions: int | None
    tied_embeddings: bool | None
    experts: int | None
    moe_intermediate_size: int | None
    shared_experts: int | None
    kv_lora_rank: int | None
    has_vision: bool


def count_parameters(shape: Shape) -> int | None:
    """Return the parameter count of the language model, or None where the shape cannot tell.

    MLA and recurrent layers are not counted yet; their weight files say it exactly.
    """
    model_type = shape.model_type or ""
    if shape.kv_lora_rank or model_type in RECURRENT_MODEL_TYPES | _UNCOUNTED:
        return None
    if not (shape.layers and shape.hidden_size and shape.vocabulary_size):
        return None
    attention, mlp = _attention(shape), _mlp(shape)
    if attention is None or mlp is None:
        return None
    hidden = shape.hidden_size
    per_layer = attention + mlp + 2 * hidden
    tables = shape.vocabulary_size * hidden * (1 if _shares_head(shape) else 2)
    positions = (shape.positions or 0) * hidden if model_type in _LEARNED_POSITIONS else 0
    return shape.layers * per_layer + tables + positions + hidden


def _attention(shape: Shape) -> int | None:
    heads, head_dim, hidden = shape.attention_heads, shape.head_dim, shape.hidden_size
    if not (heads and head_dim and hidden):
        return None
    queries, keys = heads * head_dim, (shape.kv_heads or heads) * head_dim
    bias = queries + 2 * keys if shape.model_type in _QKV_BIAS else 0
    norms = 2 * head_dim if (shape.model_type or "").startswith("qwen3") else 0
    return hidden * queries + 2 * hidden * keys + queries * hidden + bias + norms


def _mlp(shape: Shape) -> int | None:
    hidden = shape.hidden_size or 0
    if shape.experts:
        width = shape.moe_intermediate_size or shape.intermediate_size
        if width is None:
            return None
        experts = shape.experts + (shape.shared_experts or 0)
        return 3 * hidden * width * experts + hidden * shape.experts
    plain = shape.model_type in _TWO_MATRIX_MLP
    width = shape.intermediate_size or (4 * hidden if plain else None)
    if width is None:
        return None
    return (2 if plain else 3) * hidden * width


def _shares_head(shape: Shape) -> bool:
    """Return whether one table serves input and output; encoders have no output table."""
    return bool(shape.tied_embeddings) or shape.model_type in ENCODER_MODEL_TYPES

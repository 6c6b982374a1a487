"""Parameters and cache of one layer by its mixer.

Sources: modelling code of transformers 5.24; TensorRT-LLM 1.2 for cache widths; read 2026-11-28.
"""

from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.compressed_attention import compressed_attention, index_entry_bytes
from controlplane.domain.facts.families import DEEPSEEK_V4_MODEL_TYPES
from controlplane.domain.facts.layer_pattern import window_of
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.shape import Shape
from controlplane.domain.facts.state_sizes import Sized, state_layer


@dataclass(frozen=True, kw_only=True)
class _Heads:
    """What one attention layer projects to; layers of one model may differ."""

    queries: int
    keys: int
    key_dim: int
    value_dim: int
    shares_key_and_value: bool = False


def mixer_layer(shape: Shape, mixer: Mixer) -> Sized | None:
    hidden = shape.hidden_size
    if not hidden:
        return None
    if mixer is Mixer.NONE:
        return Sized(parameters=0, keeps=LayerGroup(mixer=mixer))
    if not mixer.attends:
        return state_layer(shape, mixer, hidden)
    if shape.model_type in DEEPSEEK_V4_MODEL_TYPES:
        return compressed_attention(shape, hidden)
    return _latent(shape, mixer, hidden) if shape.kv_lora_rank else _attention(shape, mixer, hidden)


def _attention(shape: Shape, mixer: Mixer, hidden: int) -> Sized | None:
    heads = _heads(shape, mixer)
    if heads is None:
        return None
    gate = 2 if numbers.flag(shape.config, "attn_output_gate") or _gates(shape) else 1
    values = 0 if heads.shares_key_and_value else heads.keys * heads.value_dim
    if _projects_every_head(shape):
        values = heads.queries * heads.value_dim
    keys = heads.queries if _projects_every_head(shape) else heads.keys
    projected = heads.queries * heads.key_dim * gate + keys * heads.key_dim + values
    bias = projected if _has_bias(shape) else 0
    return Sized(
        parameters=hidden * (projected + heads.queries * heads.value_dim) + bias,
        keeps=LayerGroup(
            mixer=mixer,
            kv_heads=heads.keys,
            numbers_per_head=heads.key_dim + heads.value_dim,
            window=window_of(shape) if mixer is Mixer.SLIDING else None,
        ),
    )


def _gates(shape: Shape) -> bool:
    return shape.model_type == "qwen3_next" or (shape.model_type or "").startswith("qwen3_5")


def _projects_every_head(shape: Shape) -> bool:
    """Falcon's first form computes keys for every head, however few it keeps."""
    says = (
        numbers.flag(shape.config, name) for name in ("multi_query", "new_decoder_architecture")
    )
    return shape.model_type == "falcon" and not any(flag is not False for flag in says)


def _has_bias(shape: Shape) -> bool:
    family = (shape.model_type or "").startswith("qwen2")
    if numbers.flag(shape.config, "qkv_bias") is False:
        return False
    return family or bool(numbers.flag(shape.config, "attention_bias"))


def _heads(shape: Shape, mixer: Mixer) -> _Heads | None:
    queries, keys, key_dim = shape.attention_heads, shape.kv_heads, shape.head_dim
    if not (queries and keys and key_dim):
        return None
    value_dim, shared = shape.value_head_dim or key_dim, False
    slides = mixer is Mixer.SLIDING
    if slides and (swa := shape.extra("swa_num_key_value_heads")):
        keys, queries = swa, shape.extra("swa_num_attention_heads", queries)
        key_dim = shape.extra("swa_head_dim", key_dim)
        value_dim = shape.extra("swa_v_head_dim", value_dim)
    if not slides and (wide := shape.extra("global_head_dim")):
        key_dim = value_dim = wide
        keys = shape.extra("num_global_key_value_heads") or keys
        shared = bool(numbers.flag(shape.config, "attention_k_eq_v"))
    return _Heads(
        queries=queries, keys=keys, key_dim=key_dim, value_dim=value_dim,
        shares_key_and_value=shared,
    )  # fmt: skip


def _latent(shape: Shape, mixer: Mixer, hidden: int) -> Sized | None:
    heads, rank = shape.attention_heads, shape.kv_lora_rank
    rope, nope = shape.qk_rope_head_dim or 0, shape.qk_nope_head_dim or 128
    value = shape.value_head_dim or nope
    if not heads or not rank:
        return None
    queries = heads * (nope + rope)
    query_rank = shape.q_lora_rank
    query_parameters = (
        hidden * query_rank + query_rank * queries if query_rank else hidden * queries
    )
    slides = mixer is Mixer.SLIDING
    index = (0, 0) if slides else (shape.extra("index_n_heads"), shape.extra("index_head_dim"))
    return Sized(
        parameters=query_parameters
        + hidden * (rank + rope)
        + rank * heads * (nope + value)
        + heads * value * hidden
        + _indexer(index, query_rank or hidden, hidden),
        keeps=LayerGroup(
            mixer=Mixer.LATENT,
            latent_numbers=rank + rope,
            index_bytes=_index_bytes(index[1]),
            window=window_of(shape) if slides else None,
        ),
    )


def _indexer(index: tuple[int, int], rank: int, hidden: int) -> int:
    heads, width = index
    return rank * heads * width + hidden * (width + heads) if heads and width else 0


def _index_bytes(width: int) -> int:
    return index_entry_bytes(width) if width else 0

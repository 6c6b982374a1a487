"""Numbers of a `config.json`, under every spelling that families use."""

from collections.abc import Iterator, Mapping
from typing import Any

Config = Mapping[str, Any]

_TEXT_BLOCKS = (
    "text_config", "llm_config", "language_config", "thinker_config", "decoder", "language_model",
)  # fmt: skip
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers",
               "num_decoder_layers"),
    "hidden_size": ("hidden_size", "n_embd", "n_embed", "d_model", "dim", "model_dim"),
    "attention_heads": (
        "num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads",
        "attention_heads", "num_decoder_attention_heads",
    ),
    "kv_heads": (
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num",
        "num_attention_groups",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "d_kv"),
    "intermediate_size": (
        "intermediate_size", "ffn_hidden_size", "n_inner", "hidden_dim", "ffn_dim", "d_ff",
        "decoder_ffn_dim", "inner_hidden_size", "block_ff_dim",
    ),
    "vocabulary_size": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "max_positions": (
        "max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "n_ctx",
        "model_max_length", "max_sequence_length", "max_target_positions",
    ),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "experts_per_token": (
        "num_experts_per_tok", "num_experts_per_token", "moe_top_k", "experts_per_token",
        "top_k_experts", "moe_topk", "moe_k",
    ),
    "moe_intermediate_size": (
        "moe_intermediate_size", "expert_ffn_hidden_size", "expert_intermediate_size",
    ),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "shared_width": (
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
        "shared_intermediate_size", "share_expert_dim",
    ),
    "dense_width": ("dense_intermediate_size", "intermediate_size_mlp"),
    "first_dense_layers": ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"),
    "sliding_window": (
        "sliding_window", "sliding_window_size", "local_attention", "attention_window_size",
    ),
    "kv_lora_rank": ("kv_lora_rank",),
    "q_lora_rank": ("q_lora_rank",),
    "qk_rope_head_dim": ("qk_rope_head_dim",),
    "qk_nope_head_dim": ("qk_nope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    "draft_layers": (
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules",
    ),
}  # fmt: skip


def text_part(config: Config) -> Config:
    """Return the block that describes the language model: the file itself or one inside it."""
    for name in _TEXT_BLOCKS:
        inner = config.get(name)
        # Asked of each key of each layer: whether nothing is a mapping takes most of the reading.
        if inner is not None and isinstance(inner, Mapping) and _describes_layers(inner):
            return text_part(inner)
    return config


def number(config: Config, meaning: str) -> int | None:
    """Return a positive whole number by what it means, or None where the file has none."""
    return first_number(config, *spellings(meaning))


def layerless(config: Config) -> tuple[str, int] | None:
    """Return key and value by which a model is to have no layer at all, or None."""
    if number(config, "layers") is not None:
        return None
    for part in _parts(config):
        for name in spellings("layers"):
            value = part.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                return name, value
    return None


def spellings(meaning: str) -> tuple[str, ...]:
    return _SPELLINGS.get(meaning, (meaning,))


def meanings(name: str) -> tuple[str, ...]:
    return tuple(meaning for meaning, names in _SPELLINGS.items() if name in names)


def first_number(config: Config, *names: str) -> int | None:
    for part in _parts(config):
        for name in names:
            value = whole(_same_throughout(part.get(name)))
            if value is not None:
                return value
    return None


def raw(config: Config, name: str) -> Any:
    """Return what a key holds in the language part or else the whole file, whatever it is."""
    for part in _parts(config):
        if part.get(name) is not None:
            return part[name]
    return None


def says(config: Config, name: str) -> bool:
    """Return whether a key is there, even where it holds null or zero."""
    return any(name in part for part in _parts(config))


def whole(value: Any) -> int | None:
    """Return `value` as a positive whole number, or None: files hold lists, null and text too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < 2**63 and value == int(value) else None


def real(value: Any) -> float | None:
    """Return `value` as a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -(2.0**63) < value < 2.0**63 else None


def numbers(config: Config, *names: str) -> tuple[int, ...]:
    """Return the first of these keys that holds a list of whole numbers from 0 up."""
    for part in _parts(config):
        for name in names:
            value = part.get(name)
            if isinstance(value, list | tuple) and value and all(map(_counts, value)):
                return tuple(int(each) for each in value)
    return ()


def words(config: Config, *names: str) -> tuple[str, ...]:
    for part in _parts(config):
        for name in names:
            value = part.get(name)
            if isinstance(value, list | tuple) and value:
                return tuple(str(each) for each in value)
    return ()


def text(config: Config, *names: str) -> str | None:
    """Return the first of these keys that holds text, in the language part or the whole file."""
    for part in _parts(config):
        for name in names:
            value = part.get(name)
            if isinstance(value, str) and value:
                return value
    return None


def flag(config: Config, name: str) -> bool | None:
    """Return a boolean key, or None where neither part of the file has it."""
    for part in _parts(config):
        value = part.get(name)
        if isinstance(value, bool):
            return value
    return None


def mapping(config: Config, *names: str) -> Config:
    for part in _parts(config):
        for name in names:
            value = part.get(name)
            if isinstance(value, Mapping):
                return value
    return {}


def _parts(config: Config) -> Iterator[Config]:
    inner = text_part(config)
    yield inner
    if inner is not config:
        yield config


def _same_throughout(value: Any) -> Any:
    """Return the one number of a list with one entry per layer that are all alike."""
    if isinstance(value, list | tuple) and value and all(each == value[0] for each in value):
        return value[0]
    return value


def _counts(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 2**31 and value == int(value)


def _describes_layers(part: Config) -> bool:
    names = (*_SPELLINGS["layers"], *_SPELLINGS["hidden_size"], *_TEXT_BLOCKS, "model_type")
    return any(name in part for name in names)

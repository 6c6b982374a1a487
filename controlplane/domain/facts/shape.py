"""The sizes of a model, as its `config.json` gives them or its family has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.config_numbers import Config
from controlplane.domain.facts.families import WHEN_UNSAID


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Everything that counting parameters and cache bytes reads. None means not known."""

    config: Config
    model_type: str | None
    """Of the language part, which differs from the file's in a multimodal wrapper."""
    layers: int | None
    hidden_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    value_head_dim: int | None
    intermediate_size: int | None
    vocabulary_size: int | None
    positions: int | None
    experts: int | None
    experts_per_token: int | None
    moe_intermediate_size: int | None
    shared_experts: int
    shared_width: int | None
    dense_width: int | None
    first_dense_layers: int
    q_lora_rank: int | None
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    qk_nope_head_dim: int | None
    assumed: tuple[str, ...] = field(default=())
    """Sizes that the file leaves out and the family's code has."""

    @property
    def architecture(self) -> str | None:
        names = self.config.get("architectures")
        first = names[0] if isinstance(names, list | tuple) and names else names
        return first if isinstance(first, str) and first else None

    def extra(self, name: str, default: int = 0) -> int:
        """Return a number that only some families have."""
        number = numbers.number(self.config, name)
        if number is not None or numbers.says(self.config, name):
            return number or 0
        return WHEN_UNSAID.get(self.model_type or "", {}).get(name, default)


def of_layer(shape: Shape, layer: int) -> Shape:
    """Return the shape of the layer of that number, which some files give sizes of its own."""
    own = numbers.mapping(shape.config, "per_layer_config").get(str(layer))
    if not isinstance(own, Mapping):
        return shape
    sizes: dict[str, Any] = {
        "head_dim": numbers.whole(own.get("head_dim")),
        "value_head_dim": numbers.whole(own.get("v_head_dim") or own.get("head_dim")),
        "attention_heads": numbers.whole(own.get("num_attention_heads")),
        "kv_heads": numbers.whole(own.get("num_key_value_heads")),
        "intermediate_size": numbers.whole(own.get("intermediate_size")),
        "kv_lora_rank": numbers.whole(own.get("kv_lora_rank")),
        "qk_nope_head_dim": numbers.whole(own.get("qk_nope_head_dim")),
        "experts": numbers.whole(own.get("num_experts") or own.get("n_routed_experts")),
    }
    return replace(shape, **{name: each for name, each in sizes.items() if each})


def read_shape(config: Config) -> Shape:
    """Return the sizes of the language part, whatever the file holds."""
    reader = _Reader(config)
    heads, hidden = reader.get("attention_heads"), reader.get("hidden_size")
    rank = reader.get("kv_lora_rank")
    head_dim = _head_dim(reader, heads, hidden)
    return Shape(
        config=config,
        model_type=reader.model_type,
        layers=reader.get("layers") or _listed_layers(config),
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=_kv_heads(reader, heads),
        head_dim=head_dim,
        value_head_dim=reader.get("v_head_dim") or head_dim,
        intermediate_size=reader.get("intermediate_size"),
        vocabulary_size=reader.get("vocabulary_size"),
        positions=numbers.first_number(config, "model_max_length") or reader.get("max_positions"),
        experts=reader.get("experts"),
        experts_per_token=reader.get("experts_per_token"),
        moe_intermediate_size=reader.get("moe_intermediate_size"),
        shared_experts=reader.get("shared_experts") or 0,
        shared_width=reader.get("shared_width"),
        dense_width=reader.get("dense_width"),
        first_dense_layers=reader.get("first_dense_layers") or 0,
        q_lora_rank=reader.get("q_lora_rank"),
        kv_lora_rank=rank,
        qk_rope_head_dim=reader.get("qk_rope_head_dim"),
        qk_nope_head_dim=reader.get("qk_nope_head_dim") if rank else None,
        assumed=tuple(reader.assumed),
    )


class _Reader:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.model_type = numbers.text(config, "model_type")
        self.assumed: list[str] = []
        self._defaults = WHEN_UNSAID.get(self.model_type or "", {})

    def get(self, meaning: str) -> int | None:
        number = numbers.number(self.config, meaning)
        if number is not None or meaning not in self._defaults or self._says_none(meaning):
            return number
        self.assumed.append(meaning)
        return self._defaults[meaning]

    def _says_none(self, meaning: str) -> bool:
        """An explicit null or zero is an answer: the family's own number does not apply."""
        return any(numbers.says(self.config, name) for name in numbers.spellings(meaning))


def _listed_layers(config: Config) -> int | None:
    listed = numbers.words(config, "layers_block_type", "layer_types")
    return len(listed) or len(numbers.text(config, "hybrid_override_pattern") or "") or None


def _head_dim(reader: _Reader, heads: int | None, hidden: int | None) -> int | None:
    given = reader.get("head_dim")
    return given or (hidden // heads if heads and hidden and hidden >= heads else None)


def _kv_heads(reader: _Reader, heads: int | None) -> int | None:
    config, given = reader.config, reader.get("kv_heads")
    if numbers.flag(config, "multi_query_attention") and given:
        return given
    if numbers.flag(config, "multi_query") and not numbers.flag(config, "new_decoder_architecture"):
        return 1
    if given is None and heads and (group := _heads_in_group(config)):
        return max(1, heads // group)
    attention = numbers.mapping(config, "attn_config")
    return given or numbers.whole(attention.get("kv_n_heads")) or heads


def _heads_in_group(config: Config) -> int | None:
    """Return the query heads of one KV head where each block of the file says its own."""
    blocks = numbers.raw(config, "block_configs")
    for block in blocks if isinstance(blocks, list) else ():
        attention = block.get("attention") if isinstance(block, dict) else None
        group = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        if (size := numbers.whole(group)) is not None:
            return size
    return None

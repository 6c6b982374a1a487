"""Nemotron NAS: a file that gives each layer its own attention and its own MLP width."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.mlp_sizes import Mlp
from controlplane.domain.facts.shape import Shape

_WIDTH_UNIT = 256


@dataclass(frozen=True, kw_only=True)
class Block:
    mixer_parameters: int
    keeps: LayerGroup
    mlp: Mlp


def block_layers(shape: Shape) -> list[Block] | None:
    blocks = numbers.raw(shape.config, "block_configs")
    hidden, heads, width = shape.hidden_size, shape.attention_heads, shape.head_dim
    if not isinstance(blocks, list) or not (hidden and heads and width):
        return None
    return [_block(part, hidden, heads, width) for part in blocks if isinstance(part, Mapping)]


def _block(block: Mapping[str, Any], hidden: int, heads: int, width: int) -> Block:
    attention, feed = _part(block, "attention"), _part(block, "ffn")
    keys = heads // (numbers.whole(attention.get("n_heads_in_group")) or heads)
    attends = not (attention.get("no_op") or attention.get("replace_with_linear"))
    mixer = 2 * hidden * heads * width + 2 * hidden * keys * width if attends else 0
    return Block(
        mixer_parameters=mixer or (hidden * hidden if attention.get("replace_with_linear") else 0),
        keeps=LayerGroup(
            mixer=Mixer.ATTENTION, kv_heads=keys, numbers_per_head=2 * width
        ) if attends else LayerGroup(mixer=Mixer.NONE),
        mlp=Mlp(dense=_mlp(feed, hidden)),
    )  # fmt: skip


def _mlp(feed: Mapping[str, Any], hidden: int) -> int:
    if feed.get("no_op"):
        return 0
    if feed.get("replace_with_linear"):
        return hidden * hidden
    multiple = numbers.real(feed.get("ffn_mult")) or 0.0
    width = -(-int(2 * multiple * hidden / 3) // _WIDTH_UNIT) * _WIDTH_UNIT
    return 3 * hidden * width


def _part(block: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = block.get(name)
    return part if isinstance(part, Mapping) else {}

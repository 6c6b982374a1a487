"""DeepSeek V4: a short window kept whole, and entries that stand for many tokens each.

Source: configuration and cache layers of transformers 5.24 (`deepseek_v4`), read 2026-11-29.
"""

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.shape import Shape
from controlplane.domain.facts.state_sizes import Sized

_INDEX_SCALE_BYTES = 4
_INDEX_BLOCK = 128
_SPARSE_TOKENS, _HEAVY_TOKENS = 4, 128
_INDEXED_UP_TO_TOKENS = 4
"""Layers that compress no more than this choose their entries by an index."""


def index_entry_bytes(width: int) -> int:
    """Return one FP8 key of the index and a four-byte scale for each 128 of its numbers."""
    return width + -(-width // _INDEX_BLOCK) * _INDEX_SCALE_BYTES


def compressed_attention(shape: Shape, hidden: int) -> Sized | None:
    """Return the parameters of a layer, about, and what its window keeps."""
    heads, width, rank = shape.attention_heads, shape.head_dim, shape.q_lora_rank
    if not (heads and width and rank):
        return None
    output = shape.extra("o_lora_rank")
    compressor = 4 * hidden * width
    hyper = 2 * (shape.extra("hc_mult") + 2) * shape.extra("hc_mult") ** 2 * hidden
    return Sized(
        parameters=hidden * (rank + width) + rank * heads * width + heads * width * output
        + shape.extra("o_groups") * output * hidden + compressor + hyper,
        keeps=LayerGroup(
            mixer=Mixer.SLIDING, latent_numbers=width, window=shape.extra("sliding_window") or None
        ),
    )  # fmt: skip


def compressed_entries(shape: Shape, layer: int, count: int) -> LayerGroup | None:
    """Return what the layer of that number keeps beside its window; None where that is all."""
    tokens, width = _tokens_per_entry(shape, layer, count), shape.head_dim
    if not tokens or not width:
        return None
    is_indexed = tokens <= _INDEXED_UP_TO_TOKENS
    return LayerGroup(
        mixer=Mixer.LATENT,
        latent_numbers=width,
        index_bytes=index_entry_bytes(shape.extra("index_head_dim")) if is_indexed else 0,
        tokens_per_entry=tokens,
    )


def _tokens_per_entry(shape: Shape, layer: int, count: int) -> int:
    config = shape.config
    rates = numbers.mapping(config, "compress_rates")
    sparse = numbers.whole(rates.get("compressed_sparse_attention")) or _SPARSE_TOKENS
    heavy = numbers.whole(rates.get("heavily_compressed_attention")) or _HEAVY_TOKENS
    by_word = {"compressed_sparse_attention": sparse, "heavily_compressed_attention": heavy}
    words = numbers.words(config, "layer_types")
    if len(words) >= count:
        return by_word.get(words[layer], 0)
    ratios = numbers.numbers(config, "compress_ratios")
    if len(ratios) >= count:
        return ratios[layer]
    # Where the file says nothing, two heavy layers come first and then one of each in turn.
    return heavy if layer < 2 or layer % 2 == 0 else sparse

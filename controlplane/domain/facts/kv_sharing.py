"""Layers that keep more, less or nothing of their own where the file says so.

Source: modelling code of transformers 5.24 (Gemma 3n and 4, LongCat Flash, DeepSeek V4) and the
files of Hunyuan Large (`use_cla`), read 2026-11-29.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.compressed_attention import compressed_entries
from controlplane.domain.facts.families import ATTENTIONS_PER_LAYER, DEEPSEEK_V4_MODEL_TYPES
from controlplane.domain.facts.layers import LayerGroup
from controlplane.domain.facts.shape import Shape

_SHARE_FACTOR = 2


@dataclass(frozen=True, kw_only=True)
class KvSharing:
    """What a file says of the keys and values of its layers, read once for all of them."""

    shape: Shape
    layers: int
    layers_with_own: int
    """The first so many; those after them read what another keeps."""
    share_factor: int
    """Cross-layer attention: of so many layers, the first one's keys and values are for all."""
    image_layers: frozenset[int]
    """Layers that attend to an image alone keep nothing of a token."""
    index_kinds: tuple[str, ...]
    passes: Sequence[tuple[range, int]]
    """How often a token goes through layers, leaving keys and values behind each time."""

    def kept_of_layer(self, layer: int, groups: Sequence[LayerGroup]) -> tuple[LayerGroup, ...]:
        if self._reads_another(layer) or layer in self.image_layers:
            return tuple(group for group in groups if not group.mixer.attends)
        model_type = self.shape.model_type or ""
        if model_type in DEEPSEEK_V4_MODEL_TYPES:
            entries = compressed_entries(self.shape, layer, self.layers)
            return (*groups, entries) if entries else tuple(groups)
        if self.index_kinds[layer : layer + 1] == ("shared",):
            groups = [group.model_copy(update={"index_bytes": 0}) for group in groups]
        return tuple(groups) * (ATTENTIONS_PER_LAYER.get(model_type, 1) * self._passes(layer))

    def _reads_another(self, layer: int) -> bool:
        return layer >= self.layers_with_own or layer % self.share_factor != 0

    def _passes(self, layer: int) -> int:
        return next((times for layers, times in self.passes if layer in layers), 1)


def kv_sharing(shape: Shape, layers: int) -> KvSharing:
    """Return what the file says of so many layers."""
    config = shape.config
    return KvSharing(
        shape=shape,
        layers=layers,
        layers_with_own=layers - shape.extra("num_kv_shared_layers"),
        share_factor=_share_factor(shape),
        image_layers=frozenset(numbers.numbers(config, "cross_attention_layers")),
        index_kinds=numbers.words(config, "indexer_types"),
        passes=tuple(_loops(shape)),
    )


def _share_factor(shape: Shape) -> int:
    if not numbers.flag(shape.config, "use_cla"):
        return 1
    return numbers.number(shape.config, "cla_share_factor") or _SHARE_FACTOR


def _loops(shape: Shape) -> Iterator[tuple[range, int]]:
    first, end = shape.extra("loop_layer_index_start"), shape.extra("loop_layer_index_end")
    yield range(first, end), shape.extra("loop_num_passes", 1)
    inputs, looped = shape.extra("n_input_layers"), shape.extra("n_recurrent_layers")
    if numbers.text(shape.config, "recurrent_kv_cache_mode") == "per_loop":
        yield range(inputs, inputs + looped), shape.extra("n_recurrent_loops", 1)

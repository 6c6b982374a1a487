"""Layers that keep more, less or nothing of their own where the file says so.

Source: modelling code of transformers 5.24 (Gemma 3n and 4, LongCat Flash, DeepSeek V4) and the
files of Hunyuan Large (`use_cla`), read 2026-11-29.
"""

from collections.abc import Sequence

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.compressed_attention import compressed_entries
from controlplane.domain.facts.families import ATTENTIONS_PER_LAYER, DEEPSEEK_V4_MODEL_TYPES
from controlplane.domain.facts.layers import LayerGroup
from controlplane.domain.facts.shape import Shape

_SHARE_FACTOR = 2


def kept_of_layer(
    shape: Shape, layer: int, count: int, groups: Sequence[LayerGroup]
) -> tuple[LayerGroup, ...]:
    last_own = count - shape.extra("num_kv_shared_layers")
    if layer >= last_own or _reads_another(shape, layer) or _reads_an_image(shape, layer):
        return tuple(group for group in groups if not group.mixer.attends)
    if shape.model_type in DEEPSEEK_V4_MODEL_TYPES:
        entries = compressed_entries(shape, layer, count)
        return (*groups, entries) if entries else tuple(groups)
    if _shares_its_index(shape, layer):
        groups = [group.model_copy(update={"index_bytes": 0}) for group in groups]
    times = ATTENTIONS_PER_LAYER.get(shape.model_type or "", 1) * _passes(shape, layer)
    return tuple(groups) * times


def _reads_another(shape: Shape, layer: int) -> bool:
    """Cross-layer attention: of so many layers, the first one's keys and values are for all."""
    if not numbers.flag(shape.config, "use_cla"):
        return False
    return layer % (numbers.number(shape.config, "cla_share_factor") or _SHARE_FACTOR) != 0


def _passes(shape: Shape, layer: int) -> int:
    """How often a token goes through the layer, leaving keys and values behind each time."""
    first, end = shape.extra("loop_layer_index_start"), shape.extra("loop_layer_index_end")
    if end and first <= layer < end:
        return shape.extra("loop_num_passes", 1)
    inputs, looped = shape.extra("n_input_layers"), shape.extra("n_recurrent_layers")
    is_kept = numbers.text(shape.config, "recurrent_kv_cache_mode") == "per_loop"
    if is_kept and looped and inputs <= layer < inputs + looped:
        return shape.extra("n_recurrent_loops", 1)
    return 1


def _reads_an_image(shape: Shape, layer: int) -> bool:
    """Layers that attend to an image alone keep nothing of a token."""
    return layer in numbers.numbers(shape.config, "cross_attention_layers")


def _shares_its_index(shape: Shape, layer: int) -> bool:
    kinds = numbers.words(shape.config, "indexer_types")
    return layer < len(kinds) and kinds[layer] == "shared"

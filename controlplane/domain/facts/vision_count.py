"""Parameters of the vision tower of a multimodal wrapper, from the usual shapes of such towers.

Within 5 % for the towers of Qwen, SigLIP, Pixtral, Gemma 4 and MiniMax; checked 2026-11-28 against
transformers 5.24. A tower that does not give its sizes counts as nothing.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.config_numbers import Config

_BLOCKS = ("vision_config", "visual", "vit_config")
_AUDIO_BLOCKS = ("audio_config", "audio_encoder_config")
_WRAPPER = "thinker_config"
"""Holds towers and text model both, where a further model speaks the answers."""
_GATED = frozenset({"pixtral", "qwen2_5_vl", "gemma4_vision", "gemma4"})
_LAYERS = ("depth", "num_hidden_layers", "vt_num_hidden_layers", "num_layers", "layers")
_HIDDEN = ("embed_dim", "hidden_size", "vt_hidden_size", "width")
_WIDTH = ("intermediate_size", "vt_intermediate_size")


def has_vision(config: Config) -> bool:
    blocks = (*_BLOCKS, "vision_tower", "mm_vision_tower")
    return any(each.get(name) for name in blocks for each in _holders(config))


def vision_heads(config: Config) -> int | None:
    return _first(_tower(config, _BLOCKS), ("num_heads", "num_attention_heads"))


def audio_heads(config: Config) -> int | None:
    return _first(_tower(config, _AUDIO_BLOCKS), ("encoder_attention_heads",))


def _tower(config: Config, names: tuple[str, ...]) -> Config:
    towers = (each.get(name) for each in _holders(config) for name in names)
    return next((block for block in towers if isinstance(block, Mapping)), {})


def _holders(config: Config) -> tuple[Config, ...]:
    inner = config.get(_WRAPPER)
    return (config, inner) if isinstance(inner, Mapping) else (config,)


def count_vision(config: Config, text_hidden: int) -> int:
    """Return the parameters of the tower and its projector; 0 where it gives no sizes."""
    tower = _tower(config, _BLOCKS)
    if not tower:
        return 0
    layers, hidden = _first(tower, _LAYERS), _first(tower, _HIDDEN)
    if not layers or not hidden:
        return 0
    layers += _first(tower, ("num_global_layers",)) or 0
    width = _first(tower, _WIDTH) or int(hidden * (numbers.real(tower.get("mlp_ratio")) or 4))
    gated = str(tower.get("model_type", config.get("model_type"))) in _GATED
    body = layers * (4 * hidden * hidden + (3 if gated else 2) * hidden * width)
    return body + _patches(tower, hidden) + _projector(tower, hidden, text_hidden)


def _patches(tower: Mapping[str, Any], hidden: int) -> int:
    size = _first(tower, ("patch_size", "spatial_patch_size")) or 14
    frames = _first(tower, ("temporal_patch_size",)) or 1
    positions = _first(tower, ("num_position_embeddings",)) or 0
    axes = 2 * (_first(tower, ("position_embedding_size",)) or 0)
    return hidden * (3 * size * size * frames + positions + axes)


def _projector(tower: Mapping[str, Any], hidden: int, text_hidden: int) -> int:
    merge = _first(tower, ("spatial_merge_size",)) or (2 if "merge_kernel_size" in tower else 1)
    inner = hidden * merge * merge
    if merge == 1:
        return hidden * text_hidden
    output = _first(tower, ("out_hidden_size",)) or text_hidden
    deep = tower.get("deepstack_visual_indexes")
    copies = 1 + (len(deep) if isinstance(deep, list) else 0)
    return copies * (inner * inner + inner * output)


def _first(tower: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((value for name in names if (value := numbers.whole(tower.get(name)))), None)

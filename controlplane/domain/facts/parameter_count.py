"""How many parameters a shape has, and what each layer keeps of a request.

Held against transformers 5.24 on an empty device, for every class that it has of text
(`tests/domain/data/model_classes.jsonl`); read 2026-11-29.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.architectures import ENCODER_MODEL_TYPES, has_language_head
from controlplane.domain.facts.block_configs import block_layers
from controlplane.domain.facts.class_counts import COUNTED_WITHIN, accuracy_of, count_class
from controlplane.domain.facts.encoder_count import count_encoder
from controlplane.domain.facts.families import (
    BIASED,
    FOUR_NORMS,
    LEARNED_POSITIONS,
    UNCOUNTED,
)
from controlplane.domain.facts.kv_sharing import kv_sharing
from controlplane.domain.facts.layer_pattern import holds_experts, mixers
from controlplane.domain.facts.layer_sizes import mixer_layer
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.mlp_sizes import Mlp, mlp_of_layer
from controlplane.domain.facts.shape import Shape, of_layer
from controlplane.domain.facts.vision_count import count_vision

_PARTS = ("tables", "attention", "mlp", "experts", "other", "vision")


class ParameterCounts(BaseModel):
    """Where the parameters are, as counted from the shape."""

    model_config = ConfigDict(frozen=True)

    tables: int = 0
    """Embedding and head, one table where they are tied."""
    attention: int = 0
    """Attention and every other mixer."""
    mlp: int = 0
    """Dense and shared MLPs."""
    experts: int = 0
    """Routed experts, all of them."""
    other: int = 0
    """Norms, routers, positions."""
    vision: int = 0
    draft: int = 0
    """Layers for multi-token prediction that the file holds beside the model; not in `total`."""
    active: int = 0
    """Of the layers, what one token passes through."""
    within: float = COUNTED_WITHIN
    """Share by which the total may be off."""

    @property
    def total(self) -> int:
        return self.tables + self.attention + self.mlp + self.experts + self.other + self.vision


@dataclass(frozen=True, kw_only=True)
class Counted:
    parameters: ParameterCounts | None
    groups: tuple[LayerGroup, ...]


def count(shape: Shape, *, tied: bool, by_class: bool = True) -> Counted:
    """Return parameters and layer groups, None and empty where the shape does not tell.

    Without `by_class` the layers alone are counted, whatever the table of classes says.
    """
    layers = _layers(shape)
    groups = _grouped([group for layer in layers for group in layer.keeps])
    drafts = _draft(shape, layers, shape.hidden_size or 0) if layers else 0
    if by_class and (parts := count_class(shape.architecture, shape)) is not None:
        of_class = counts_of(
            parts, experts=shape.experts, per_token=shape.experts_per_token, drafts=drafts
        )
        return Counted(parameters=of_class, groups=groups)
    within = accuracy_of(shape.architecture) if by_class else COUNTED_WITHIN
    if within is None or (shape.model_type or "") in UNCOUNTED:
        return Counted(parameters=None, groups=groups)
    total = _of_layers(shape, layers, tied, drafts)
    return Counted(parameters=total and total.model_copy(update={"within": within}), groups=groups)


def counts_of(
    parts: Mapping[str, int], *, experts: int | None, per_token: int | None, drafts: int = 0
) -> ParameterCounts:
    share = min(1.0, (per_token or 1) / max(experts or 1, 1))
    known = {name: parts.get(name, 0) for name in _PARTS}
    active = known["attention"] + known["mlp"] + round(share * known["experts"])
    return ParameterCounts(**known, draft=drafts, active=active)


def _of_layers(
    shape: Shape, layers: list["_Layer"], tied: bool, drafts: int
) -> ParameterCounts | None:
    if shape.model_type in ENCODER_MODEL_TYPES:
        total = count_encoder(shape)
        return None if total is None else ParameterCounts(
            tables=total.tables, attention=total.attention, mlp=total.mlp, other=total.other,
            active=total.attention + total.mlp,
        )  # fmt: skip
    hidden, vocabulary = shape.hidden_size, shape.vocabulary_size
    if not (layers and hidden and vocabulary) or any(layer.mlp is None for layer in layers):
        return None
    return _summed(shape, layers, hidden, vocabulary, tied, drafts)


@dataclass(frozen=True, kw_only=True)
class _Layer:
    mixer_parameters: int
    keeps: tuple[LayerGroup, ...]
    mlp: Mlp | None


def _layers(shape: Shape) -> list[_Layer]:
    if (blocks := block_layers(shape)) is not None:
        return [
            _Layer(mixer_parameters=block.mixer_parameters, keeps=(block.keeps,), mlp=block.mlp)
            for block in blocks
        ]
    pattern, sparse = mixers(shape), holds_experts(shape)
    present = {each for mixer in pattern for each in (mixer, *_beside(shape, mixer))}
    sized = {mixer: mixer_layer(shape, mixer) for mixer in present}
    sharing = kv_sharing(shape, len(pattern))
    layers = []
    for number, mixer in enumerate(pattern):
        own = of_layer(shape, number)
        parts = [
            sized[each] if own is shape else mixer_layer(own, each)
            for each in (mixer, *_beside(shape, mixer))
        ]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return []
        layers.append(
            _Layer(
                mixer_parameters=sum(part.parameters for part in known),
                keeps=sharing.kept_of_layer(number, [part.keeps for part in known]),
                mlp=mlp_of_layer(own, number, sparse=sparse(number)),
            )
        )
    return layers


def _beside(shape: Shape, mixer: Mixer) -> tuple[Mixer, ...]:
    both = shape.model_type == "falcon_h1" or (
        shape.model_type in ("zamba", "zamba2") and mixer is Mixer.ATTENTION
    )
    return (Mixer.MAMBA,) if both else ()


def _summed(
    shape: Shape, layers: list[_Layer], hidden: int, vocabulary: int, tied: bool, drafts: int
) -> ParameterCounts:
    mlps = [layer.mlp for layer in layers if layer.mlp is not None]
    embedded = numbers.number(shape.config, "word_embed_proj_dim") or hidden
    table = vocabulary * embedded
    attention = sum(layer.mixer_parameters for layer in layers)
    dense = sum(mlp.dense for mlp in mlps)
    return ParameterCounts(
        tables=table * (1 if tied or not has_language_head(shape.architecture) else 2),
        attention=attention,
        mlp=dense,
        experts=sum(mlp.experts for mlp in mlps),
        other=sum(mlp.router for mlp in mlps)
        + _rest(shape, len(layers), hidden)
        + (2 * embedded * hidden if embedded != hidden else 0),
        vision=count_vision(shape.config, hidden),
        draft=drafts,
        active=attention + dense + sum(mlp.router + mlp.active_experts for mlp in mlps),
    )


def _rest(shape: Shape, layers: int, hidden: int) -> int:
    model_type = shape.model_type or ""
    vectors, biases = (4 if model_type in FOUR_NORMS else 2), 0
    if model_type in BIASED:
        vectors += 2
        biases = layers * _biases(shape, hidden)
    positions = (shape.positions or 0) if model_type in LEARNED_POSITIONS else 0
    per_layer = shape.extra("hidden_size_per_layer_input")
    inputs = 0
    if per_layer:
        table = shape.extra("vocab_size_per_layer_input") or shape.vocabulary_size or 0
        inputs = layers * per_layer * (table + 3 * hidden)
    return hidden * (vectors * layers + 1 + positions) + inputs + biases


def _biases(shape: Shape, hidden: int) -> int:
    heads, width = shape.attention_heads or 0, shape.head_dim or 0
    projected = (heads + 2 * (shape.kv_heads or heads)) * width
    return projected + 2 * hidden + (shape.intermediate_size or 4 * hidden)


def _draft(shape: Shape, layers: list[_Layer], hidden: int) -> int:
    """Return the parameters of the prediction layers: each like the last one, and a projection."""
    last = layers[-1]
    number = numbers.number(shape.config, "draft_layers") or 0
    mlp = last.mlp.total if last.mlp else 0
    return number * (last.mixer_parameters + mlp + 2 * hidden * hidden)


def _grouped(kept: list[LayerGroup]) -> tuple[LayerGroup, ...]:
    counted = Counter(group for group in kept if group.mixer is not Mixer.NONE)
    return tuple(group.model_copy(update={"count": n}) for group, n in counted.items())

"""How many parameters a shape has, and what each layer keeps of a request.

Held against transformers 5.24 on an empty device: within 1 % for every family named in
`tests/domain/data/parameter_counts.jsonl`; checked 2026-11-28.
"""

from collections import Counter
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.architectures import ENCODER_MODEL_TYPES
from controlplane.domain.facts.block_configs import block_layers
from controlplane.domain.facts.encoder_count import count_encoder
from controlplane.domain.facts.families import (
    BIASED,
    FOUR_NORMS,
    LEARNED_POSITIONS,
    UNCOUNTED,
)
from controlplane.domain.facts.layer_pattern import holds_experts, mixers
from controlplane.domain.facts.layer_sizes import mixer_layer
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.mlp_sizes import Mlp, mlp_of_layer
from controlplane.domain.facts.shape import Shape
from controlplane.domain.facts.vision_count import count_vision


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

    @property
    def total(self) -> int:
        """Return the parameters that an engine holds."""
        return self.tables + self.attention + self.mlp + self.experts + self.other + self.vision


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What the shape of a model comes to."""

    parameters: ParameterCounts | None
    groups: tuple[LayerGroup, ...]


def count(shape: Shape, *, tied: bool) -> Counted:
    """Return parameters and layer groups, None and empty where the shape does not tell."""
    layers = _layers(shape)
    groups = _grouped([group for layer in layers for group in layer.keeps])
    if (shape.model_type or "") in UNCOUNTED:
        return Counted(parameters=None, groups=groups)
    if shape.model_type in ENCODER_MODEL_TYPES:
        total = count_encoder(shape)
        found = None if total is None else ParameterCounts(
            tables=total.tables, attention=total.attention, mlp=total.mlp, other=total.other,
            active=total.attention + total.mlp,
        )  # fmt: skip
        return Counted(parameters=found, groups=groups)
    hidden, vocabulary = shape.hidden_size, shape.vocabulary_size
    if not (layers and hidden and vocabulary) or any(layer.mlp is None for layer in layers):
        return Counted(parameters=None, groups=groups)
    return Counted(parameters=_summed(shape, layers, hidden, vocabulary, tied), groups=groups)


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
    sized = {mixer: mixer_layer(shape, mixer) for mixer in {*pattern, *_beside(shape)}}
    found = []
    for number, mixer in enumerate(pattern):
        parts = [sized[each] for each in (mixer, *_beside(shape))]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return []
        found.append(
            _Layer(
                mixer_parameters=sum(part.parameters for part in known),
                keeps=tuple(part.keeps for part in known),
                mlp=mlp_of_layer(shape, number, sparse=sparse(number)),
            )
        )
    return found


def _beside(shape: Shape) -> tuple[Mixer, ...]:
    """Return the mixers that run beside the main one in every layer."""
    return (Mixer.MAMBA,) if shape.model_type == "falcon_h1" else ()


def _summed(
    shape: Shape, layers: list[_Layer], hidden: int, vocabulary: int, tied: bool
) -> ParameterCounts:
    mlps = [layer.mlp for layer in layers if layer.mlp is not None]
    table = vocabulary * hidden
    attention = sum(layer.mixer_parameters for layer in layers)
    dense = sum(mlp.dense for mlp in mlps)
    return ParameterCounts(
        tables=table * (1 if tied else 2),
        attention=attention,
        mlp=dense,
        experts=sum(mlp.experts for mlp in mlps),
        other=sum(mlp.router for mlp in mlps) + _rest(shape, len(layers), hidden),
        vision=count_vision(shape.config, hidden),
        draft=_draft(shape, layers, hidden),
        active=attention + dense + sum(mlp.router + mlp.active_experts for mlp in mlps),
    )


def _rest(shape: Shape, layers: int, hidden: int) -> int:
    model_type = shape.model_type or ""
    vectors = 4 if model_type in FOUR_NORMS else 2
    if model_type in BIASED:
        vectors += 2 + 4 + (shape.intermediate_size or 4 * hidden) // hidden
    positions = (shape.positions or 0) if model_type in LEARNED_POSITIONS else 0
    per_layer = shape.extra("hidden_size_per_layer_input")
    inputs = 0
    if per_layer:
        table = shape.extra("vocab_size_per_layer_input") or shape.vocabulary_size or 0
        inputs = layers * per_layer * (table + 3 * hidden)
    return hidden * (vectors * layers + 1 + positions) + inputs


def _draft(shape: Shape, layers: list[_Layer], hidden: int) -> int:
    """Return the parameters of the prediction layers: each like the last one, and a projection."""
    last = layers[-1]
    number = numbers.number(shape.config, "draft_layers") or 0
    mlp = last.mlp.total if last.mlp else 0
    return number * (last.mixer_parameters + mlp + 2 * hidden * hidden)


def _grouped(kept: list[LayerGroup]) -> tuple[LayerGroup, ...]:
    """Return the kinds of layers that keep something, each with its number."""
    counted = Counter(group for group in kept if group.mixer is not Mixer.NONE)
    return tuple(group.model_copy(update={"count": n}) for group, n in counted.items())

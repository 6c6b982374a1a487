"""What a class says of itself, and facts made better by it."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.class_counts import COUNTED_WITHIN
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.parameter_count import counts_of


class ClassShape(BaseModel):
    """A class made of a checkpoint's config.json, without weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parameters: Mapping[str, int] = Field(min_length=1)
    """By part of the model."""
    numbers_a_token: int | None = Field(default=None, ge=0)
    """Keys and values of a token over all layers; None where the class could not be asked."""
    numbers_a_request: int | None = None
    """What a request keeps whatever its length."""


def wants_its_class(facts: CheckpointFacts) -> bool:
    """Return whether the class could say more than the tables here, which are held to it."""
    if facts.architecture is None or facts.remote_code:
        return False
    counts = facts.counts
    return counts is None or counts.within > COUNTED_WITHIN or facts.unknown_kv_layers > 0


def refined(facts: CheckpointFacts, shape: ClassShape) -> CheckpointFacts:
    """Return the facts with what the class says in place of what was not known."""
    counts = counts_of(shape.parameters, experts=facts.experts, per_token=facts.experts_per_token)
    is_stored = not facts.parameters_estimated and facts.existing_quantization is None
    return facts.model_copy(
        update={
            "counts": counts,
            "parameters": facts.parameters if is_stored else counts.total,
            "layer_groups": _groups(facts, shape),
        }
    )


def _groups(facts: CheckpointFacts, shape: ClassShape) -> tuple[LayerGroup, ...]:
    """Return the kinds of layers, those that were not known as what is left for them to keep."""
    unknown = facts.unknown_kv_layers
    if not unknown or shape.numbers_a_token is None:
        return facts.layer_groups
    known = tuple(group for group in facts.groups if group.mixer is not Mixer.UNKNOWN)
    left = shape.numbers_a_token - sum(map(_numbers_a_token, known))
    if left < 0 or left % unknown:
        return facts.layer_groups
    heads = facts.kv_heads or 1
    width = left // unknown
    even = {"kv_heads": heads, "numbers_per_head": width // heads}
    kept = even if width % heads == 0 else {"latent_numbers": width}
    layer_group = LayerGroup(mixer=Mixer.ATTENTION, count=unknown, **kept) if width else None
    return (
        (*known, layer_group)
        if layer_group
        else known or (LayerGroup(mixer=Mixer.NONE, count=unknown),)
    )


def _numbers_a_token(group: LayerGroup) -> int:
    numbers = group.kv_heads * group.numbers_per_head + group.latent_numbers
    return group.count * numbers // group.tokens_per_entry

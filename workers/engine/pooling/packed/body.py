"""A model's body that takes rows packed where its own class takes them padded."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from workers.engine.pooling.packed.attention import NAME, Packing, packed_by
from workers.engine.pooling.packed.batch import as_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a body is called with, each `[1, tokens]`."""

    ids: Tensor
    positions: Tensor
    types: Tensor


Compute = Callable[[Inputs, Packing], Tensor]
"""A line of tokens to their hidden states, `[tokens, size]`."""


def packs(body: Any, *, has_pooler: bool) -> bool:
    """Whether the class lets its attention be given, and numbers positions as it is told.

    `has_pooler`: a head reads what it pools, which must then be a layer that takes a whole table.
    """
    takes = inspect.signature(body.forward).parameters
    is_bent = getattr(body.config, "attn_logit_softcapping", None) is not None
    is_in_parts = has_pooler and isinstance(getattr(body, "pooler", None), nn.Linear)
    return (
        body._supports_attention_backend
        and "position_ids" in takes
        and not (is_bent or is_in_parts)
    )


class PackedBody:
    """Stands before a model's body, so that the heads of the model find tables as ever.

    The hidden states of all rows are computed once; then a head asks for those of some of them.
    """

    def __init__(self, model: Any, *, has_pooler: bool) -> None:
        """`has_pooler`: the head reads what the class pools, where it pools anything."""
        model.set_attn_implementation(NAME)
        body = model.base_model
        takes = inspect.signature(body.forward).parameters
        self._takes_types = "token_type_ids" in takes
        self._more = {"use_cache": False} if "use_cache" in takes else {}
        self._forward = body.forward
        self._pooler = getattr(body, "pooler", None) if has_pooler else None
        self._hidden: Tensor | None = None
        body.forward = self._forward_whole

    def compute(self, inputs: Inputs, packing: Packing) -> Tensor:
        """Give back the hidden states of a line, `[tokens, size]`."""
        types = {"token_type_ids": inputs.types} if self._takes_types else {}
        with packed_by(packing):
            output = self._forward(
                input_ids=inputs.ids, position_ids=inputs.positions, **types, **self._more
            )
        hidden: Tensor = output.last_hidden_state[0]
        return hidden

    def show(self, hidden: Tensor, lengths: Sequence[int], places: Tensor) -> None:
        """Let the next call of the body be answered with these."""
        self._hidden = as_table(hidden, lengths, places)

    def _forward_whole(self, *_: Any, **__: Any) -> BaseModelOutputWithPooling:
        hidden, self._hidden = self._hidden, None
        assert isinstance(hidden, torch.Tensor)
        pooled = self._pooler(hidden) if self._pooler is not None else None
        return BaseModelOutputWithPooling(last_hidden_state=hidden, pooler_output=pooled)

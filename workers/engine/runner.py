"""Runs Transformers' model code over rows of any length at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from workers.engine.attention import AttentionRule
from workers.engine.deltas import AdapterDeltas
from workers.engine.kv_cache import SlotCache, Span
from workers.engine.long_rope import LongRope
from workers.engine.slots import Row

ATTENTION_NAME = "enginehouse_slots"


@dataclass(frozen=True, slots=True)
class Segment:
    row: Row
    tokens: Sequence[int]
    drafts: int = 0
    """How many of the last tokens are guesses, each to be verified by the scores before it."""
    is_forced: bool = False
    """Whether they are what a grammar forces, and no guesses."""
    scores_all: bool = False
    """Whether the scores after each token are wanted, and not only after the last."""
    adapter: str | None = None
    is_long: bool = False
    """Whether the row uses the second set of a model with two sets of rotary frequencies."""

    @property
    def scored_tokens(self) -> int:
        """How many of the last tokens are followed by scores."""
        return len(self.tokens) if self.scores_all else 1 + self.drafts


@dataclass(frozen=True, slots=True)
class StepLayout:
    """Where the flattened tokens of a step belong; every attention layer reads it."""

    cache: SlotCache
    slots: Tensor
    spans: tuple[Span, ...]


class ModelRunner:
    """One forward for all segments of a step, flattened to a single sequence."""

    def __init__(
        self,
        model: nn.Module,
        cache: SlotCache,
        deltas: AdapterDeltas,
        device: torch.device,
        long_rope: LongRope | None = None,
    ) -> None:
        self._model = model
        self._long_rope = long_rope
        self._deltas = deltas
        self.cache = cache
        self._device = device

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def forward(self, segments: Sequence[Segment]) -> tuple[Tensor, ...]:
        """Feed the segments; give back each one's logits after its scored tokens.

        Shapes: `[scored tokens, vocabulary]`.

        A row's length grows only when the whole forward has succeeded, so a failed one may be
        repeated.
        """
        spans = tuple(self.cache.span(s.row, len(s.tokens)) for s in segments)
        positions = torch.cat([torch.arange(s.length - s.queries, s.length) for s in spans])
        starts = [segment.row.first_slot for segment in segments for _ in segment.tokens]
        ids = torch.tensor([token for segment in segments for token in segment.tokens])
        ends = list(accumulate(span.queries for span in spans))
        scored = [
            torch.arange(end - segment.scored_tokens, end)
            for segment, end in zip(segments, ends, strict=True)
        ]
        slots = positions + torch.tensor(starts)
        self._deltas.begin([(len(segment.tokens), segment.adapter) for segment in segments])
        if self._long_rope is not None:
            self._long_rope.begin([(len(one.tokens), one.is_long) for one in segments])
        output = self._model(
            input_ids=ids[None].to(self._device),
            position_ids=positions[None].to(self._device),
            use_cache=False,
            logits_to_keep=torch.cat(scored).to(self._device),
            slot_step=StepLayout(self.cache, slots.to(self._device), spans),
        )
        for segment, span in zip(segments, spans, strict=True):
            segment.row.length = span.length
        return output.logits[0].float().cpu().split([len(each) for each in scored])


def _slot_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    slot_step: StepLayout,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """The attention function that Transformers' layers call. Shapes: `[1, heads, tokens, dim]`."""
    rule = AttentionRule(scaling or query.shape[-1] ** -0.5, sliding_window, softcap)
    slot_step.cache.write(module.layer_idx, key[0], value[0], slot_step.slots)
    q = query[0].transpose(0, 1)
    output = slot_step.cache.attend(module.layer_idx, q, slot_step.spans, rule)
    return output[None], None


# No mask function is registered under this name, which makes Transformers build no mask.
AttentionInterface.register(ATTENTION_NAME, _slot_attention)

"""Bytes on one card: weights, KV cache, activations, overhead; and how many requests fit."""

from controlplane.domain.memory.plan import Card, MemoryPlan, UnplannableError, plan
from controlplane.domain.memory.sizing import (
    builder_cards,
    cards_that_fit,
    longest_sequence,
)

__all__ = [
    "Card",
    "MemoryPlan",
    "UnplannableError",
    "builder_cards",
    "cards_that_fit",
    "longest_sequence",
    "plan",
]

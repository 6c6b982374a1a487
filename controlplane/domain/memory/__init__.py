"""Bytes on one GPU: weights, KV cache, activations, overhead; and how many requests fit."""

from controlplane.domain.memory.build_estimate import BuildEstimate, build_estimate
from controlplane.domain.memory.changes import Change, changes
from controlplane.domain.memory.fit import FitRow, GpuOffer, every_offer, fit
from controlplane.domain.memory.plan import Card, MemoryPlan, UnplannableError, plan
from controlplane.domain.memory.report import checked_plan, plan_report
from controlplane.domain.memory.sizing import (
    builder_cards,
    cards_that_fit,
    longest_sequence,
)

__all__ = [
    "BuildEstimate",
    "Card",
    "Change",
    "FitRow",
    "GpuOffer",
    "MemoryPlan",
    "UnplannableError",
    "build_estimate",
    "builder_cards",
    "cards_that_fit",
    "changes",
    "checked_plan",
    "every_offer",
    "fit",
    "longest_sequence",
    "plan",
    "plan_report",
]

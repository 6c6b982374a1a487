"""Bytes on one GPU: weights, KV cache, activations, overhead; and how many requests fit."""

from controlplane.domain.memory.build_estimate import BuildEstimate, build_estimate
from controlplane.domain.memory.changes import Change, changes
from controlplane.domain.memory.fit import FitRow, GpuOffer, every_offer, fit
from controlplane.domain.memory.plan import Device, MemoryPlan, UnplannableError, plan
from controlplane.domain.memory.report import checked_plan, plan_report
from controlplane.domain.memory.sizing import (
    builder_devices,
    devices_that_fit,
    longest_sequence,
)

__all__ = [
    "BuildEstimate",
    "Change",
    "Device",
    "FitRow",
    "GpuOffer",
    "MemoryPlan",
    "UnplannableError",
    "build_estimate",
    "builder_devices",
    "changes",
    "checked_plan",
    "devices_that_fit",
    "every_offer",
    "fit",
    "longest_sequence",
    "plan",
    "plan_report",
]

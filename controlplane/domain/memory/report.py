"""A plan with everything beside it: the builder, single changes, other GPUs."""

from collections.abc import Sequence
from typing import Any

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.build_estimate import build_estimate
from controlplane.domain.memory.changes import changes
from controlplane.domain.memory.fit import FitRow
from controlplane.domain.memory.memory_plan import MemoryPlan


def checked_plan(planned: MemoryPlan) -> dict[str, Any]:
    """Return the plan's own form and, beside it, the `engine` and what the `builder` takes."""
    inputs = planned.inputs
    choice = inputs.checkpoint.engine
    on_gpu = planned.device_kind != CPU
    builder = build_estimate(inputs.spec, inputs.checkpoint, inputs.device) if on_gpu else None
    return {
        **planned.to_json(),
        "engine": {"name": choice.engine.value, "reason": choice.reason},
        "builder": builder.to_json() if builder else None,
    }


def plan_report(planned: MemoryPlan, *, advice: Sequence[FitRow] = ()) -> dict[str, Any]:
    """Return a checked plan and, beside it, `changes` and `advice`."""
    return {
        **checked_plan(planned),
        "changes": [change.to_json() for change in changes(planned)],
        "advice": [row.to_json() for row in advice],
    }

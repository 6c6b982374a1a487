"""The table of faults: one row each, and the worst of all rows."""

from collections.abc import Sequence
from typing import Any

from benchmarks.recovery_parts.clocks import CAN_BE_OFF
from benchmarks.recovery_parts.faults import CONTROL_PLANE, SUPERVISOR, Cost, Fault, cost_of
from benchmarks.recovery_parts.serving import Serving


def faults_told(serving: Serving, faults: Sequence[Fault]) -> dict[str, Any]:
    """Return the figures of these faults, each in its turn."""
    costs = [(fault, cost_of(serving, fault)) for fault in faults]
    rows = {fault.name: cost.to_json() for fault, cost in costs}
    return {**worst_of(costs), "clocks_not_run": not CAN_BE_OFF, "faults": rows}


def worst_of(costs: Sequence[tuple[Fault, Cost]]) -> dict[str, float]:
    """Return the worst or the sum of each column."""
    every = [cost for _, cost in costs]
    return {
        "faults_true_seconds_max": max(cost.true_after_seconds for cost in every),
        "lost_without_control_plane": sum(
            cost.lost for fault, cost in costs if fault.kind in CONTROL_PLANE
        ),
        "lost_beyond_in_flight": sum(
            cost.lost_beyond_in_flight for fault, cost in costs if fault != Fault(kind=SUPERVISOR)
        ),
        "doubled": sum(cost.doubled or 0 for cost in every),
        "usage_difference": sum(cost.usage_difference for cost in every),
        "engines_replaced_needlessly": sum(
            cost.engines_replaced for fault, cost in costs if not fault.ends_an_engine
        ),
        "engines_left_over": sum(cost.orphans for cost in every),
        "leases_left": sum(cost.leases_left for cost in every),
    }

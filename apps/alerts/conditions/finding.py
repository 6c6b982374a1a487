"""Everything that is wrong now, of all teams."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from apps.alerts.conditions.budgets import budget_conditions
from apps.alerts.conditions.builds import build_conditions
from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.credentials import credential_conditions
from apps.alerts.conditions.machines import machine_conditions
from apps.alerts.conditions.memory import memory_conditions
from apps.alerts.conditions.serving import serving_conditions
from apps.alerts.conditions.traffic import traffic_conditions
from controlplane.clock import Clock

Family = Callable[[Clock], Iterator[Condition]]
QUICK: Sequence[Family] = (
    serving_conditions,
    build_conditions,
    credential_conditions,
    budget_conditions,
    machine_conditions,
)
"""Those that a page may look for each time it is asked."""
FAMILIES: Sequence[Family] = (*QUICK, traffic_conditions, memory_conditions)


def conditions_now(clock: Clock, *, families: Sequence[Family] = FAMILIES) -> (
    Mapping[str, Condition]
):  # fmt: skip
    """Return every condition that holds, by its key; the number of queries is always the same."""
    return {found.key: found for family in families for found in family(clock)}

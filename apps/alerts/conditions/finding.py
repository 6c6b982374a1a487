"""Everything that is wrong now, of all teams."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from apps.alerts.conditions.budgets import budget_conditions
from apps.alerts.conditions.builds import build_conditions
from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.credentials import credential_conditions
from apps.alerts.conditions.lookahead import lookahead_conditions
from apps.alerts.conditions.machines import machine_conditions
from apps.alerts.conditions.memory import memory_conditions
from apps.alerts.conditions.serving import serving_conditions
from apps.alerts.conditions.traffic import traffic_conditions
from controlplane.clock import Clock

Family = Callable[[Clock], Iterator[Condition]]
FAMILIES: Sequence[Family] = (
    serving_conditions,
    build_conditions,
    credential_conditions,
    budget_conditions,
    machine_conditions,
    traffic_conditions,
    memory_conditions,
    lookahead_conditions,
)


def conditions_now(clock: Clock) -> Mapping[str, Condition]:
    """Return every condition that holds, by its key; the number of queries is always the same."""
    return {condition.key: condition for family in FAMILIES for condition in family(clock)}

"""The documented formula: how many replicas a load needs."""

from dataclasses import dataclass
from math import ceil

from controlplane.domain.scaling.settings import ScalingSettings

_DUST = 1e-9
"""What adding up floats may leave above a whole number."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What was in flight at once, on average over the window, at all gateways together."""

    requests: float = 0.0
    """Running and waiting ones; asynchronous ones are not among them."""
    tokens: float = 0.0

    def times(self, factor: float) -> "Load":
        return Load(requests=self.requests * factor, tokens=self.tokens * factor)


NO_LOAD = Load()


def replicas_for(load: Load, settings: ScalingSettings) -> int:
    """Return how many replicas the load needs, whatever the least and the most.

    ceil(mean in flight / (concurrency_target x utilization)), or ceil(mean tokens / target).
    """
    if settings.target_in_flight_tokens is not None:
        return _ceil(load.tokens / settings.target_in_flight_tokens)
    carried = settings.concurrency_target * settings.target_utilization_percentage
    return _ceil(load.requests * 100 / carried)


def _ceil(ratio: float) -> int:
    return max(0, ceil(ratio - _DUST))

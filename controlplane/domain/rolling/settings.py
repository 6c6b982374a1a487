"""Settings of rolling changes with their defaults and limits.

Source: the hosted product's management API and its page of rolling deployments, read 2026-08-22.
What names replicas instead of percent, and the canary, is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

LIMITS: Mapping[str, tuple[int, int]] = {
    "max_surge_percent": (0, 50),
    "max_unavailable_percent": (0, 50),
    "max_surge_replicas": (1, 1000),
    "max_unavailable_replicas": (1, 1000),
    "stabilization_time_seconds": (0, 3600),
    "replica_overhead_percent": (0, 500),
}
"""Of `rolling_deploy_config`: setting -> its least and its most."""
RAMP_STAGES = 10
RAMP_LIMITS_SECONDS = (0, 86_400)
CANARY_LIMITS_PERCENT = (1, 50)


class Strategy(StrEnum):
    REPLICA = "replica"
    """Replica by replica: traffic follows the ratio of replicas."""
    RAMP = "ramp"
    """In ten equal stages over a time, once all replicas of the new version are ready."""
    AT_ONCE = "at_once"
    """All traffic in one step; a canary's share may come before."""


@dataclass(frozen=True, kw_only=True)
class RollSettings:
    rolling_deploy: bool = False
    ramp_up_while_promoting: bool = False
    ramp_up_duration_seconds: int = 600
    max_surge_percent: int = 25
    max_unavailable_percent: int = 0
    max_surge_replicas: int | None = None
    max_unavailable_replicas: int | None = None
    stabilization_time_seconds: int = 0
    replica_overhead_percent: int = 0
    canary_percent: int | None = None
    """It holds at this share until a person, or a program, says that it goes on."""
    canary_by_header: bool = False
    """Clients may ask for the candidate; without a share it holds at 0 % for them."""

    @classmethod
    def of(cls, promotion_settings: Mapping[str, Any]) -> Self:
        """Return the settings in the hosted product's shape; other names are passed over."""
        stored = {**promotion_settings, **(promotion_settings.get("rolling_deploy_config") or {})}
        names = {each.name for each in fields(cls)}
        return cls(**{name: stored[name] for name in names if stored.get(name) is not None})

    @property
    def strategy(self) -> Strategy:
        if self.rolling_deploy:
            return Strategy.REPLICA
        return Strategy.RAMP if self.ramp_up_while_promoting else Strategy.AT_ONCE

    @property
    def is_gradual(self) -> bool:
        return self.strategy is not Strategy.AT_ONCE or self.holds_at is not None

    @property
    def holds_at(self) -> int | None:
        """The share at which it waits to be resumed; None where it does not."""
        return 0 if self.canary_percent is None and self.canary_by_header else self.canary_percent

    def unavailable(self, total: int) -> int:
        """Return how many of the replicas may be missing; never the last one."""
        if self.strategy is not Strategy.REPLICA:
            return 0
        count = self.max_unavailable_replicas or _part(total, self.max_unavailable_percent)
        return min(count, total - 1)

    def surge(self, total: int) -> int:
        """Return by how many replicas both together may exceed what carries the traffic."""
        if self.strategy is not Strategy.REPLICA:
            return total
        if self.unavailable(total):
            return 0
        return min(total, self.max_surge_replicas or max(1, _part(total, self.max_surge_percent)))

    def with_overhead(self, replicas: int) -> int:
        """Return the number of replicas that are to be ready to carry what so many carry now."""
        return replicas + -(-replicas * self.replica_overhead_percent // 100)

    @property
    def dwell_seconds(self) -> float:
        if self.strategy is Strategy.RAMP:
            return self.ramp_up_duration_seconds / RAMP_STAGES
        return self.stabilization_time_seconds if self.strategy is Strategy.REPLICA else 0.0


def problems_of(config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return each contradiction in a `rolling_deploy_config`: setting, what is wrong, advice."""
    surge = config.get("max_surge_replicas") or config.get("max_surge_percent", 25)
    gone = config.get("max_unavailable_replicas") or config.get("max_unavailable_percent", 0)
    if bool(surge) != bool(gone):
        return []
    field, advice = "max_surge_percent,max_unavailable_percent", "Set one of them to 0."
    if surge:
        return [(field, f"Surge ({surge}) and unavailable ({gone}) are both set: exactly one "
                        "of the two moves replicas.", advice)]  # fmt: skip
    return [(field, "Surge and unavailable are both 0: no replica could ever move.",
             "Set one of them above 0.")]  # fmt: skip


def _part(total: int, percent: int) -> int:
    return -(-total * percent // 100)

"""Autoscaling settings with their defaults and limits.

Source: the hosted product's autoscaling page, read 2026-11-27.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

LIMITS: Mapping[str, tuple[int, int | None]] = {
    "min_replica": (0, 1000),
    "max_replica": (1, 1000),
    "autoscaling_window": (10, 3600),
    "scale_down_delay": (0, 3600),
    "concurrency_target": (1, None),
    "target_utilization_percentage": (1, 100),
    "target_in_flight_tokens": (1, None),
    "max_scale_down_rate": (1, 50),
}
"""Setting -> its least and its most. The 1000 are ours: the hosted product names no highest."""

OF_TOKENS: Mapping[str, int] = {
    "min_replica": 1,
    "autoscaling_window": 300,
    "scale_down_delay": 300,
}
"""What is the default instead where tokens in flight are the target."""


@dataclass(frozen=True, kw_only=True)
class ScalingSettings:
    """What a person wants of a deployment's size, under the hosted product's names."""

    min_replica: int = 0
    max_replica: int = 1
    autoscaling_window: int = 60
    """Seconds over which load is averaged."""
    scale_down_delay: int = 900
    """Seconds for which load must stay low before replicas end."""
    concurrency_target: int = 1
    target_utilization_percentage: int = 70
    target_in_flight_tokens: int | None = None
    """Where it is set, it alone decides, and neither concurrency nor utilization does."""
    max_scale_down_rate: int = 50
    """Share of the replicas, in percent, that may end at one time."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the given settings over the defaults; other names are passed over."""
        names = {each.name for each in fields(cls)}
        known = {name: value for name, value in stored.items() if name in names}
        defaults = OF_TOKENS if known.get("target_in_flight_tokens") is not None else {}
        return cls(**{**defaults, **known})

    @property
    def requests_per_replica(self) -> float:
        """How many requests at once one replica is meant to carry."""
        return self.concurrency_target * self.target_utilization_percentage / 100

    def within(self, replicas: int) -> int:
        return max(self.min_replica, min(replicas, self.max_replica))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def problems_of(fields: Mapping[str, Any], settings: ScalingSettings) -> list[tuple[str, str, str]]:
    """Return each contradiction in `settings`, changed by `fields`: setting, what is wrong, advice.

    Ranges of single settings are `LIMITS`.
    """
    problems = []
    low, high = settings.min_replica, settings.max_replica
    if low > high:
        problems.append(
            ("min_replica,max_replica", f"`min_replica` {low} is above `max_replica` {high}.",
             "Raise `max_replica`, or lower `min_replica`.")
        )  # fmt: skip
    if settings.target_in_flight_tokens is None:
        return problems
    for name in ("concurrency_target", "target_utilization_percentage"):
        if name in fields:
            problems.append(
                (name, f"`{name}` has no effect beside `target_in_flight_tokens` "
                       f"{settings.target_in_flight_tokens}.",
                 f"Leave `{name}` out, or set `target_in_flight_tokens` to null.")
            )  # fmt: skip
    if low == 0:
        problems.append(
            ("min_replica", "`min_replica` 0 does not go with `target_in_flight_tokens`: a "
             "deployment that is sized by tokens does not scale to zero.",
             "Set `min_replica` to 1 or more.")
        )  # fmt: skip
    return problems

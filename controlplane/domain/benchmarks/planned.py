from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.benchmarks.verdicts import Stage


@dataclass(frozen=True, kw_only=True)
class PlannedAgainstMeasured:
    figure: str
    """`tokens_per_second` or `kv_tokens`."""
    concurrency: int | None
    """Requests at a time; None where the figure does not depend on it."""
    planned_low: float
    planned_high: float
    measured: float

    @property
    def difference_ratio(self) -> float:
        """How far it is beyond the nearer end of the plan, as a part of that; 0 within."""
        end = min(max(self.measured, self.planned_low), self.planned_high)
        return (self.measured - end) / end if end else 0.0


def planned_against_measured(
    plan: Mapping[str, Any] | None,
    stages: Sequence[Stage],
    *,
    replicas: int,
    reported_kv_tokens: int | None,
) -> list[PlannedAgainstMeasured]:
    """Return the figures of which both are known, of each whole level that the plan speaks of."""
    if not plan:
        return []
    return [*_kv(plan, reported_kv_tokens), *_speeds(plan, stages, max(1, replicas))]


def _kv(plan: Mapping[str, Any], reported: int | None) -> Iterator[PlannedAgainstMeasured]:
    planned = (plan.get("capacity") or {}).get("kv_tokens")
    if planned and reported:
        yield PlannedAgainstMeasured(
            figure="kv_tokens", concurrency=None,
            planned_low=planned, planned_high=planned, measured=reported,
        )  # fmt: skip


def _speeds(
    plan: Mapping[str, Any], stages: Sequence[Stage], replicas: int
) -> Iterator[PlannedAgainstMeasured]:
    speed = plan.get("speed") or {}
    ranges = {1: speed.get("tokens_per_second"), speed.get("batch"): _batch(speed)}
    for stage in stages:
        at_once = stage["level"] / replicas if stage["load"] == "concurrency" else None
        planned = ranges.get(at_once) if at_once else None
        if planned and not stage["is_partial"] and stage["completion_tokens_per_second"]:
            yield PlannedAgainstMeasured(
                figure="tokens_per_second", concurrency=int(at_once or 0),
                planned_low=planned["low"], planned_high=planned["high"],
                measured=stage["completion_tokens_per_second"] / replicas,
            )  # fmt: skip


def _batch(speed: Mapping[str, Any]) -> Mapping[str, float] | None:
    batch_speed: Mapping[str, float] | None = speed.get("batch_tokens_per_second")
    return batch_speed


def cost_per_million_tokens(stage: Stage, cost_per_hour: float | None) -> float | None:
    """Return what a million written tokens cost at that level; None where nobody knows a price."""
    tokens: float | None = stage["completion_tokens_per_second"]
    if not cost_per_hour or not tokens:
        return None
    return cost_per_hour / (tokens * 3600) * 1e6

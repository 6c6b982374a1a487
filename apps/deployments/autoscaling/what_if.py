"""What settings would have done with the traffic that was: a simulation of the recorded series.

Requests are spread evenly over each step that series keep: what is shorter is smoothed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from apps.deployments.models import Deployment, Replica
from apps.telemetry.series.selectors import query
from controlplane.domain.scaling.settings import ScalingSettings
from controlplane.domain.scaling.simulation import Outcome, Traffic, World, simulate

STEP_SECONDS = 5
_PIECE = timedelta(hours=6)
"""As much as one answer holds by the minute."""
_STEP_SECONDS = 60
_STARTS_LOOKED_AT = 20
UNKNOWN_START_SECONDS = 120.0
"""Of a deployment that never started a replica."""
_HOUR_SECONDS = 3600


@dataclass(frozen=True, kw_only=True)
class Recorded:
    start: datetime
    end: datetime
    arrivals: tuple[int, ...]
    """In each step of `STEP_SECONDS`."""
    service_seconds: float
    start_seconds: float
    measured_starts: int
    """Over how many starts that is the median; 0 where it is a guess."""

    @property
    def requests(self) -> int:
        return sum(self.arrivals)


def recorded(*, deployment: Deployment, start: datetime, end: datetime, now: datetime) -> Recorded:
    starts = _start_seconds(deployment)
    return Recorded(
        start=start,
        end=end,
        arrivals=tuple(_arrivals(deployment, start, end, now)),
        service_seconds=_service_seconds(deployment, start, end, now),
        start_seconds=median(starts) if starts else UNKNOWN_START_SECONDS,
        measured_starts=len(starts),
    )


def replay(settings: ScalingSettings, traffic: Recorded) -> Outcome:
    return simulate(
        settings,
        Traffic(
            arrivals=traffic.arrivals,
            service_seconds=traffic.service_seconds,
            step_seconds=STEP_SECONDS,
        ),
        World(start_seconds=traffic.start_seconds),
        first=max(1, settings.min_replica),
    )


def in_short(outcome: Outcome, *, devices_per_replica: int) -> dict[str, Any]:
    share = outcome.waited / outcome.requests if outcome.requests else 0.0
    waited = outcome.wait_seconds / outcome.waited if outcome.waited else 0.0
    return {
        "requests_waited": outcome.waited,
        "requests_waited_percent": round(100 * share, 2),
        "mean_wait_seconds": round(waited, 1),
        "longest_wait_seconds": round(outcome.longest_wait_seconds, 1),
        "gpu_hours": round(outcome.replica_seconds * devices_per_replica / _HOUR_SECONDS, 2),
        "cold_starts": outcome.cold_starts,
        "starts": outcome.starts,
        "most_replicas": outcome.highest,
    }


def _arrivals(
    deployment: Deployment, start: datetime, end: datetime, now: datetime
) -> Iterator[int]:
    owed = 0.0
    for at in _pieces(start, end):
        answer = query("requests", start=at, end=min(at + _PIECE, end), now=now,
                       step_seconds=_STEP_SECONDS, **_scope(deployment))  # fmt: skip
        counts = answer.lines[0].values["sum"] if answer.lines else [None] * len(answer.times)
        steps = answer.step_seconds // STEP_SECONDS
        for count in counts:
            for _ in range(steps):
                owed += (count or 0.0) / steps
                whole = int(owed + 1e-6)
                owed -= whole
                yield whole


def _pieces(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        yield start
        start += _PIECE


def _service_seconds(
    deployment: Deployment, start: datetime, end: datetime, now: datetime
) -> float:
    """Return how long a request took on average, without its wait for a replica."""
    whole, waited = (
        query(name, start=start, end=end, now=now, as_one=True, **_scope(deployment))
        for name in ("end_to_end_seconds", "queue_seconds")
    )
    means = [each.lines[0].values["mean"][0] if each.lines else None for each in (whole, waited)]
    return max(0.001, (means[0] or 0.0) - (means[1] or 0.0))


def _scope(deployment: Deployment) -> Mapping[str, Any]:
    filters = {"deployment_id": [deployment.id]}
    return {"team_id": deployment.model.team_id, "filters": filters}


def _start_seconds(deployment: Deployment) -> list[float]:
    started = Replica.objects.filter(deployment=deployment, ready_at__isnull=False)
    latest = started.order_by("-ready_at").values_list("ordered_at", "ready_at")
    return [
        (ready - ordered).total_seconds() for ordered, ready in latest[:_STARTS_LOOKED_AT] if ready
    ]

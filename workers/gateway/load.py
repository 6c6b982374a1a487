"""What is in flight, as the control plane is told it: it sizes deployments by that."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controlplane.clock import SYSTEM, Clock
from workers.gateway.metrics import Metrics

if TYPE_CHECKING:
    from workers.gateway.exchange import Exchange


@dataclass(slots=True)
class LoadReport:
    """Means since the report before; a deployment that is not named had nothing in flight."""

    seconds: float
    deployments: dict[str, tuple[float, int, float]] = field(default_factory=dict)
    """By id: mean requests in flight, requests held without a replica, tokens in flight."""
    woken: list[str] = field(default_factory=list)
    ejected: dict[str, str] = field(default_factory=dict)
    """Replicas that are passed over now, by id: why."""

    def to_json(self, sequence: int) -> bytes:
        rows = {
            id: {"requests": round(requests, 4), "held": waiting, "tokens": round(tokens)}
            for id, (requests, waiting, tokens) in self.deployments.items()
        }
        report = {"sequence": sequence, "seconds": round(self.seconds, 3), "woken": self.woken}
        return json.dumps({**report, "deployments": rows, "ejected": self.ejected}).encode()


AWAKE_REQUESTS = 0.01
"""In flight where only marked requests are: enough to stay awake, too few for a second replica."""


class Load:
    """Sums of what is in flight; a benchmark's requests keep a deployment awake, and no more."""

    def __init__(self, metrics: Metrics, *, clock: Clock = SYSTEM) -> None:
        self._metrics = metrics
        self._clock = clock
        self._reported_at = clock.monotonic()
        self._reported: dict[str, float] = {}
        self._woken: set[str] = set()
        self.is_urgent = asyncio.Event()
        """A request waits for a deployment that sleeps, or someone asked to wake one."""

    def wake(self, deployment_id: str) -> None:
        """Report at once that the deployment is wanted."""
        self._woken.add(deployment_id)
        self.is_urgent.set()

    def keep_woken(self, report: LoadReport) -> None:
        """Report them again: this report did not arrive."""
        self._woken.update(report.woken)

    def take(self, running: Iterable["Exchange"], waiting: Mapping[str, int]) -> LoadReport:
        """Return what there was since the last time; a report that is lost is never made up for."""
        now = self._clock.monotonic()
        report = LoadReport(seconds=now - self._reported_at, woken=sorted(self._woken))
        running = list(running)
        tokens = self._tokens(each for each in running if each.sizes)
        for (_, id), counts in self._metrics.deployments.items():
            total = counts.in_flight_seconds_until(now)
            grown, self._reported[id] = total - self._reported.get(id, 0.0), total
            if grown > 0 or id in waiting:
                mean = grown / report.seconds if report.seconds > 0 else float(counts.in_flight)
                report.deployments[id] = (mean, waiting.get(id, 0), tokens.get(id, 0.0))
        for each in running:
            if not each.sizes:
                report.deployments.setdefault(
                    each.admission.deployment.id, (AWAKE_REQUESTS, 0, 0.0)
                )
        self._reported_at = now
        self._woken.clear()
        self.is_urgent.clear()
        return report

    def _tokens(self, running: Iterable["Exchange"]) -> dict[str, float]:
        tokens: dict[str, float] = {}
        for each in running:
            if each.is_async:
                continue
            deployment = each.admission.deployment
            counts = self._metrics.of(deployment.model_id, deployment.id)
            more = counts.tokens.estimate(each.request_bytes, each.response_bytes)
            tokens[deployment.id] = tokens.get(deployment.id, 0.0) + more
        return tokens

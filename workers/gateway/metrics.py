"""Counts kept as plain integers on the hot path and turned into Prometheus text when asked."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

DURATION_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1200)
STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
LABELS = ("model_id", "deployment_id")


class Histogram:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(DURATION_SECONDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(DURATION_SECONDS, seconds)] += 1
        self.total += seconds


class DeploymentCounts:
    __slots__ = ("by_status_class", "duration", "first_byte", "in_flight", "upstream_errors")

    def __init__(self) -> None:
        self.by_status_class = [0] * len(STATUS_CLASSES)
        self.duration = Histogram()
        self.first_byte = Histogram()
        self.in_flight = 0
        self.upstream_errors: dict[str, int] = {}

    def upstream_failed(self, reason: str) -> None:
        self.upstream_errors[reason] = self.upstream_errors.get(reason, 0) + 1

    def finished(self, status: int, *, duration: float, first_byte: float | None) -> None:
        self.by_status_class[min(max(status // 100, 1), 5) - 1] += 1
        self.duration.observe(duration)
        if first_byte is not None:
            self.first_byte.observe(first_byte)


class Metrics:
    """Counts of every deployment, and of requests that were refused before reaching one."""

    def __init__(self) -> None:
        self.deployments: dict[tuple[str, str], DeploymentCounts] = {}
        self.refused: dict[int, int] = {}
        self.snapshot_version = 0
        self.client_connections = 0
        self.slips = 0
        self.routes_differed = 0

    def of(self, model_id: str, deployment_id: str) -> DeploymentCounts:
        key = (model_id, deployment_id)
        counts = self.deployments.get(key)
        if counts is None:
            counts = self.deployments[key] = DeploymentCounts()
        return counts

    def count_routes_differed(self) -> None:
        self.routes_differed += 1

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1

    def exposition(self, may_see: Callable[[str], bool]) -> bytes:
        """Return the Prometheus text of the models that the asking key may see."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self, may_see))
        return generate_latest(registry)


class _Collector:
    def __init__(self, metrics: Metrics, may_see: Callable[[str], bool]) -> None:
        self._metrics = metrics
        self._rows = [
            (labels, counts) for labels, counts in metrics.deployments.items() if may_see(labels[0])
        ]

    def collect(self) -> Iterator[Metric]:
        yield from self._process()
        yield self._requests()
        yield self._in_flight()
        yield self._upstream_errors()
        durations = [(labels, counts.duration) for labels, counts in self._rows]
        yield _histogram("gateway_request_duration_seconds", "Request to last byte.", durations)
        firsts = [(labels, counts.first_byte) for labels, counts in self._rows]
        yield _histogram(
            "gateway_time_to_first_byte_seconds", "Request to first byte, streamed or not.", firsts
        )

    def _process(self) -> Iterator[Metric]:
        version, clients = self._metrics.snapshot_version, self._metrics.client_connections
        yield GaugeMetricFamily("gateway_snapshot_version", "Routes applied.", value=version)
        yield GaugeMetricFamily("gateway_client_connections", "Open connections.", value=clients)
        yield CounterMetricFamily(
            "gateway_slips", "Mistakes of the gateway's own.", value=self._metrics.slips
        )
        yield CounterMetricFamily(
            "gateway_routes_differed",
            "Times the routes were not what the control plane has, and were fetched whole.",
            value=self._metrics.routes_differed,
        )
        refused = CounterMetricFamily(
            "gateway_requests_refused", "Requests refused before a deployment.", labels=["status"]
        )
        for status, count in self._metrics.refused.items():
            refused.add_metric([str(status)], count)
        yield refused

    def _requests(self) -> Metric:
        family = CounterMetricFamily(
            "gateway_requests", "Requests finished.", labels=[*LABELS, "status_class"]
        )
        for labels, counts in self._rows:
            for name, count in zip(STATUS_CLASSES, counts.by_status_class, strict=True):
                family.add_metric([*labels, name], count)
        return family

    def _in_flight(self) -> Metric:
        family = GaugeMetricFamily("gateway_requests_in_flight", "Requests running.", labels=LABELS)
        for labels, counts in self._rows:
            family.add_metric(labels, counts.in_flight)
        return family

    def _upstream_errors(self) -> Metric:
        family = CounterMetricFamily(
            "gateway_upstream_errors", "Failures of engines.", labels=[*LABELS, "reason"]
        )
        for labels, counts in self._rows:
            for reason, count in counts.upstream_errors.items():
                family.add_metric([*labels, reason], count)
        return family


def _histogram(
    name: str, words: str, rows: Iterable[tuple[tuple[str, str], Histogram]]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, words, labels=LABELS)
    bounds = [*(str(float(bound)) for bound in DURATION_SECONDS), "+Inf"]
    for labels, histogram in rows:
        buckets = list(zip(bounds, accumulate(histogram.counts), strict=True))
        family.add_metric(labels, buckets, sum_value=histogram.total)
    return family

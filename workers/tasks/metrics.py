"""What a worker tells a Prometheus on its host: the tasks that it took, runs and holds."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from celery.signals import worker_ready
from celery.worker import state
from django.conf import settings
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from workers.metrics_server import metrics_serve

_PREFIX = "enginehouse_worker_"


class WorkerMetrics(Collector):
    """Read from Celery's own count, which is that of the process over all of its children."""

    def __init__(self, worker: str) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        labels = ["worker", "task"]
        taken = CounterMetricFamily(f"{_PREFIX}tasks", "Tasks taken.", labels=labels)
        for task, many in sorted(dict(state.total_count).items()):
            taken.add_metric([self._worker, task], many)
        yield taken
        for name, words, requests in (
            ("tasks_running", "Tasks that run.", state.active_requests),
            ("tasks_reserved", "Tasks taken that have not ended.", state.reserved_requests),
        ):
            yield self._gauge(name, words, Counter(str(each.name) for each in list(requests)))

    def _gauge(self, name: str, words: str, counts: Counter[str]) -> Metric:
        family = GaugeMetricFamily(f"{_PREFIX}{name}", words, labels=["worker", "task"])
        for task, many in sorted(counts.items()):
            family.add_metric([self._worker, task], many)
        return family


@worker_ready.connect(weak=False)
def _serve(sender: Any, **_signal: Any) -> None:
    metrics_serve(WorkerMetrics(str(sender.hostname)), settings.METRICS_LISTEN)

"""What an agent tells a Prometheus on its host: its reports, replicas, engines and GPUs.

Under names of its own: the control plane's page tells the same of all nodes under the hosted
product's, and a sum over both would count everything twice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from workers.agent.control_plane import ControlPlane

_OF_REPLICAS = (
    ("requests_running", "requests_running", "Requests that the engine works on."),
    ("requests_waiting", "requests_waiting", "Requests in the engine's own queue."),
    ("kv_cache_used_ratio", "kv_cache_used_ratio", "Part of the KV cache in use."),
)
_OF_DEVICES = (
    ("used_bytes", "device_used_bytes", "Memory taken, whoever took it."),
    ("memory_bytes", "device_memory_bytes", "Memory for engines."),
    ("utilization_percent", "device_utilization_percent",
     "Part of the time in which a kernel ran, of 100; of a CPU its load by cores."),
    ("power_watts", "device_power_watts", "Power drawn."),
)  # fmt: skip
_PREFIX = "enginehouse_agent_"


class AgentMetrics(Collector):
    """The last report, and how many the control plane took."""

    def __init__(self) -> None:
        self._report: Mapping[str, Any] = {}
        self._taken = self._lost = 0

    def reported(self, observation: Mapping[str, Any], *, is_taken: bool) -> None:
        self._report = observation
        self._taken += is_taken
        self._lost += not is_taken

    def collect(self) -> Iterator[Metric]:
        report = self._report
        words = "Reports to the control plane, and those that it did not take."
        reports = CounterMetricFamily(f"{_PREFIX}reports", words, labels=["outcome"])
        reports.add_metric(["taken"], self._taken)
        reports.add_metric(["lost"], self._lost)
        yield reports
        if report:
            yield from _of_host(report)
            yield from _gauges(report["devices"], _OF_DEVICES, ("index", "kind"))
            engines = [each | (each["metrics"] or {}) for each in report["replicas"]]
            yield from _gauges(engines, _OF_REPLICAS, ("id",))


class WatchedControlPlane:
    """The control plane, with every report told to `metrics`."""

    def __init__(self, control_plane: ControlPlane, metrics: AgentMetrics) -> None:
        self._control_plane = control_plane
        self._metrics = metrics
        self.ship_log, self.leave = control_plane.ship_log, control_plane.leave

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        is_taken = False
        try:
            answer = self._control_plane.observe(observation)
            is_taken = True
            return answer
        finally:
            self._metrics.reported(observation, is_taken=is_taken)


def _of_host(report: Mapping[str, Any]) -> Iterator[Metric]:
    states = Counter(str(each["state"]) for each in report["replicas"])
    replicas = GaugeMetricFamily(f"{_PREFIX}replicas", "Replicas here.", labels=["state"])
    for state, many in sorted(states.items()):
        replicas.add_metric([state], many)
    yield replicas
    if (free := report["disk_free_bytes"]) is not None:
        yield GaugeMetricFamily(f"{_PREFIX}disk_free_bytes", "Of the data folder.", value=free)


def _gauges(
    rows: list[Mapping[str, Any]],
    gauges: tuple[tuple[str, str, str], ...],
    labels: tuple[str, ...],
) -> Iterator[Metric]:
    """Give each with the rows that know it: what was not measured has no line."""
    shown = ["replica" if name == "id" else name for name in labels]
    for key, name, words in gauges:
        family = GaugeMetricFamily(f"{_PREFIX}{name}", words, labels=shown)
        for row in rows:
            if row.get(key) is not None:
                family.add_metric([str(row[label]) for label in labels], row[key])
        yield family

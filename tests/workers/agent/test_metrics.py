"""What an agent tells a Prometheus of itself."""

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from workers.agent.control_plane import ControlPlaneAway
from workers.agent.metrics import AgentMetrics, WatchedControlPlane

OBSERVATION = {
    "disk_free_bytes": 5,
    "devices": [
        {"index": 0, "kind": "H100", "memory_bytes": 80, "used_bytes": 7, "power_watts": 350.0,
         "utilization_percent": None},
        {"index": 1000, "kind": "CPU", "memory_bytes": 16, "used_bytes": 3},
    ],
    "replicas": [
        {"id": "a", "state": "ready", "metrics": {"requests_running": 2.0}},
        {"id": "b", "state": "ready", "metrics": None},
        {"id": "c", "state": "failed", "metrics": None},
    ],
}  # fmt: skip


class Answering:
    is_away = False

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        if self.is_away:
            raise ControlPlaneAway("nodes/observe: nobody answers")
        return {"replicas": []}

    def ship_log(self, **piece: Any) -> None: ...

    def leave(self) -> None: ...


def test_reports_replicas_engines_and_devices_are_told_as_last_seen() -> None:
    metrics, behind = AgentMetrics(), Answering()
    watched = WatchedControlPlane(behind, metrics)
    registry = CollectorRegistry()
    registry.register(metrics)
    report = registry.get_sample_value
    assert report("enginehouse_agent_reports_total", {"outcome": "taken"}) == 0
    assert report("enginehouse_agent_disk_free_bytes") is None

    assert watched.observe(OBSERVATION) == {"replicas": []}
    behind.is_away = True
    with pytest.raises(ControlPlaneAway):
        watched.observe(OBSERVATION)

    assert report("enginehouse_agent_reports_total", {"outcome": "taken"}) == 1
    assert report("enginehouse_agent_reports_total", {"outcome": "lost"}) == 1
    assert report("enginehouse_agent_replicas", {"state": "ready"}) == 2
    assert report("enginehouse_agent_requests_running", {"replica": "a"}) == 2
    assert report("enginehouse_agent_requests_running", {"replica": "b"}) is None
    gpu, cpu = {"index": "0", "kind": "H100"}, {"index": "1000", "kind": "CPU"}
    assert report("enginehouse_agent_device_used_bytes", gpu) == 7
    assert report("enginehouse_agent_device_utilization_percent", gpu) is None
    assert report("enginehouse_agent_device_power_watts", cpu) is None

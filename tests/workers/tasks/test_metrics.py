"""What a worker tells a Prometheus of its tasks."""

from types import SimpleNamespace

import pytest
from celery.worker import state
from prometheus_client import CollectorRegistry

from workers.tasks.metrics import WorkerMetrics


def test_tasks_are_counted_by_name_taken_running_and_reserved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, waiting = SimpleNamespace(name="builds.run"), SimpleNamespace(name="builds.run")
    monkeypatch.setattr(state, "total_count", {"builds.run": 5, "alerts.sweep": 7})
    monkeypatch.setattr(state, "active_requests", [running])
    monkeypatch.setattr(state, "reserved_requests", [running, waiting])
    registry = CollectorRegistry()
    registry.register(WorkerMetrics("build.default@host"))

    def told(name: str, task: str) -> float | None:
        labels = {"worker": "build.default@host", "task": task}
        return registry.get_sample_value(f"enginehouse_worker_{name}", labels)

    assert told("tasks_total", "alerts.sweep") == 7
    assert told("tasks_total", "builds.run") == 5
    assert told("tasks_running", "builds.run") == 1
    assert told("tasks_reserved", "builds.run") == 2
    assert told("tasks_running", "alerts.sweep") is None

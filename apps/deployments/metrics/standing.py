"""What stands somewhere now: replicas, their engines and their GPUs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from apps.accounts.models import Team
from apps.deployments.metrics.shown import Shown
from apps.deployments.models import Replica
from apps.fleet.models import DeviceLease
from apps.fleet.selectors import nodes_silent
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.wire.exposition import Page, labels_text, sample

STARTING = (ReplicaState.ORDERED, ReplicaState.STARTING, ReplicaState.LOADING)
_MEBIBYTE = 1024**2
_Row = tuple[str, str, str, str | None, Mapping[str, Any] | None]
"""Replica, deployment, state, node, what its engine said last."""


def add_standing(page: Page, team: Team, shown: Mapping[str, Shown]) -> None:
    live = Replica.objects.filter(
        deployment__model__team=team, state__in=(ReplicaState.READY, *STARTING)
    ).order_by("id")
    columns = ("id", "deployment_id", "state", "node_id", "metrics")
    rows = [row for row in live.values_list(*columns) if row[1] in shown]
    labels = {id: each.labels() for id, each in shown.items()}
    _add_replicas(page, labels, rows)
    _add_engines(page, labels, rows)
    _add_devices(page, labels, {row[0]: row[1] for row in rows})


def _add_replicas(page: Page, labels: Mapping[str, str], rows: Iterable[_Row]) -> None:
    silent = set(nodes_silent().values_list("id", flat=True))
    counts = Counter(_standing(row, silent) for row in rows)
    active = {id: counts[id, "true"] + counts[id, "unknown"] for id in labels}
    _add_gauge(page, "baseten_replicas_active", "Ready replicas.", labels, active)
    starting = {id: counts[id, "false"] for id in labels}
    _add_gauge(page, "baseten_replicas_starting", "On their way.", labels, starting)
    name = "baseten_pod_readiness"
    words = "Replicas that are ready, that are not, and those of a node that is silent."
    lines = [
        sample(name, f'{labels[id]},condition="{condition}"', many)
        for (id, condition), many in sorted(counts.items())
    ]
    page.add(name, "gauge", words, lines)


def _standing(row: _Row, silent: set[str]) -> tuple[str, str]:
    _, deployment_id, state, node_id, _ = row
    if state != ReplicaState.READY:
        return deployment_id, "false"
    return deployment_id, "unknown" if node_id in silent else "true"


def _add_engines(page: Page, labels: Mapping[str, str], rows: Iterable[_Row]) -> None:
    running: dict[str, float] = dict.fromkeys(labels, 0.0)
    by_replica = []
    name = "baseten_llm_num_requests"
    kv_name = "enginehouse_kv_cache_used_ratio"
    kv_used = []
    for id, deployment_id, state, _, metrics in rows:
        if state != ReplicaState.READY or not metrics:
            continue
        many = float(metrics.get("requests_running", 0)) + float(metrics.get("requests_waiting", 0))
        running[deployment_id] += many
        of_replica = f'{labels[deployment_id]},replica="{id}"'
        by_replica.append(sample(name, of_replica, many))
        if (used := metrics.get("kv_cache_used_ratio")) is not None:
            kv_used.append(sample(kv_name, of_replica, used))
    words = "In engines, running and waiting."
    _add_gauge(page, "baseten_concurrent_requests", words, labels, running)
    page.add(name, "gauge", words, by_replica)
    page.add(kv_name, "gauge", "Part of the KV cache in use.", kv_used)


def _add_devices(page: Page, labels: Mapping[str, str], replicas: Mapping[str, str]) -> None:
    """Add the GPUs that a replica holds alone; what is used of a shared one is not told apart."""
    # Those of other teams as well: named one by one, ten thousand are slower to ask for.
    leases = DeviceLease.objects.filter(released_at=None, holder__startswith="replica:")
    leases = leases.exclude(device__kind="CPU")
    columns = ("holder", "device__index", "device__used_bytes", "device__utilization_percent")
    used, busy = [], []
    memory, utilization = "baseten_gpu_memory_used", "baseten_gpu_utilization"
    for holder, index, used_bytes, percent in leases.order_by(
        "holder", "device__index"
    ).values_list(*columns):
        id = holder.partition(":")[2]
        if id not in replicas:
            continue
        named = labels_text(("replica", "gpu"), (id, str(index)))
        of_gpu = f"{labels[replicas[id]]},{named}"
        if used_bytes is not None:
            used.append(sample(memory, of_gpu, used_bytes / _MEBIBYTE))
        if percent is not None:
            busy.append(sample(utilization, of_gpu, percent))
    page.add(memory, "gauge", "Memory of a GPU in use, in MiB.", used)
    page.add(utilization, "gauge", "Part of the time in which a kernel ran, of 100.", busy)


def _add_gauge(
    page: Page, name: str, words: str, labels: Mapping[str, str], values: Mapping[str, float]
) -> None:
    page.add(name, "gauge", words, [sample(name, labels[id], values[id]) for id in labels])

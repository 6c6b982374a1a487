"""Looks at everything that stands somewhere, every 10 seconds: engines, GPUs, replicas, gateways.

Agents read their engines and GPUs and send what they read with their reports; this is the one place
that takes it into series. While the control plane is away there is a gap, and nothing waits for it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from apps.deployments.autoscaling.signal import signals_at
from apps.deployments.models import Deployment, Replica
from apps.deployments.selectors import replicas_measured
from apps.fleet.models import Device, DeviceLease
from apps.fleet.selectors import gateways_live, nodes_alive, prices_now
from apps.telemetry.series.cells import FINEST_SECONDS, Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, counters_before, increases
from controlplane import clock
from controlplane.domain.draft_positions import POSITIONS, series_of
from controlplane.domain.lifecycle import ReplicaState

_ENGINE_GAUGES = ("requests_running", "requests_waiting", "kv_cache_used_ratio")
_ENGINE_COUNTERS = {
    "prompt_tokens_total": "engine_prompt_tokens",
    "completion_tokens_total": "engine_completion_tokens",
    "preemptions_total": "preemptions",
    "prefix_cache_queries_total": "prefix_cache_queries",
    "prefix_cache_hits_total": "prefix_cache_hits",
    "draft_tokens_total": "draft_tokens",
    "accepted_draft_tokens_total": "accepted_draft_tokens",
    "drafted_answer_tokens_total": "drafted_answer_tokens",
    "drafted_answer_seconds_total": "drafted_answer_seconds",
    "undrafted_answer_tokens_total": "undrafted_answer_tokens",
    "undrafted_answer_seconds_total": "undrafted_answer_seconds",
    "drafts_total": "drafts",
    **{f"{series_of(each)}_total": series_of(each) for each in POSITIONS},
}
"""Of an engine, as agents name it -> of the catalogue."""
_STARTING = (ReplicaState.ORDERED, ReplicaState.STARTING, ReplicaState.LOADING)
_LONGEST_STEP_SECONDS = 60.0
"""What passed since the last look, at most: after an absence nobody saw what was held."""
_LOAD_SECONDS = 10
"""As long as a bucket: what is kept of the load is the load since the sample before."""
_CONTROL_PLANE = "control_plane"
_PER_HOUR = 3600.0
_Labels = Mapping[str, str]


def series_sample(*, now: datetime | None = None) -> int:
    """Return how many sources had something new to say."""
    at = (now or clock.now()).timestamp()
    return batches_add([*_engines(), _of_control_plane(at)])


def _engines() -> Iterator[Batch]:
    replicas = [each for each in _measured() if each.heard_at is not None]
    before = counters_before([_source(each) for each in replicas])
    for replica in replicas:
        yield _of_engine(replica, before.get(_source(replica), {}))


def _measured() -> Iterator[Replica]:
    yield from replicas_measured().select_related("node", "deployment__model")


def _source(replica: Replica) -> str:
    return f"replica:{replica.id}.{replica.generation}"


def _of_engine(replica: Replica, before: Mapping[str, float]) -> Batch:
    metrics, moment = replica.metrics or {}, replica.heard_at
    at = moment.timestamp() if moment else 0.0
    counters = {name: float(metrics[name]) for name in _ENGINE_COUNTERS if name in metrics}
    cells = Cells()
    cell = cells.at(Source.ENGINE, at, _labels_of(replica))
    for name in _ENGINE_GAUGES:
        if name in metrics:
            cell.look(name, float(metrics[name]))
    for name, grown in increases(counters, before, _ENGINE_COUNTERS).items():
        cell.count(_ENGINE_COUNTERS[name], grown)
    return Batch(
        source=_source(replica),
        sequence=int(at * 1000),
        cells=cells,
        clock_ahead_seconds=replica.node.clock_ahead_seconds if replica.node else 0,
        counters=counters,
    )


def _labels_of(replica: Replica) -> dict[str, str]:
    return {**_labels(replica.deployment), "replica_id": replica.id,
            "node_id": replica.node_id or ""}  # fmt: skip


def _labels(deployment: Deployment) -> dict[str, str]:
    return {
        "team_id": deployment.model.team_id,
        "model_id": deployment.model_id,
        "deployment_id": deployment.id,
    }


def _of_control_plane(at: float) -> Batch:
    before = counters_before([_CONTROL_PLANE]).get(_CONTROL_PLANE, {})
    passed = max(0.0, min(at - before.get("at", at), _LONGEST_STEP_SECONDS))
    cells, leases = Cells(), _leases_by_device()
    _look_at_devices(cells, at, leases)
    _look_at_deployments(cells, at)
    _count_device_time(cells, at, leases, passed)
    _count_failures(cells, at, before.get("at", at))
    cells.at(Source.CONTROL_PLANE, at, {}).look("gateways_live", gateways_live().count())
    return Batch(
        source=_CONTROL_PLANE,
        sequence=int(at // FINEST_SECONDS),
        cells=cells,
        counters={"at": at},
    )


@dataclass(frozen=True, kw_only=True)
class _Lease:
    """That a replica holds a GPU, or a part of a shared one."""

    labels: _Labels
    kind: str
    share: float
    is_shared: bool


def _leases_by_device() -> dict[str, list[_Lease]]:
    leases = DeviceLease.objects.filter(released_at=None, holder__startswith="replica:")
    rows = list(leases.select_related("device"))
    ids = {lease.holder.partition(":")[2] for lease in rows}
    replicas = Replica.objects.select_related("deployment__model").in_bulk(ids)
    held_by: dict[str, list[_Lease]] = {}
    for lease in rows:
        replica = replicas.get(lease.holder.partition(":")[2])
        if replica is not None:
            held_by.setdefault(lease.device_id, []).append(_of_lease(lease, replica))
    return held_by


def _of_lease(lease: DeviceLease, replica: Replica) -> _Lease:
    device = lease.device
    share = lease.memory_bytes / device.memory_bytes if device.is_shared else 1.0
    return _Lease(
        labels=_labels_of(replica), kind=device.kind, share=share, is_shared=device.is_shared
    )


def _look_at_devices(cells: Cells, at: float, leases: Mapping[str, list[_Lease]]) -> None:
    for device in Device.objects.filter(is_present=True, node__in=nodes_alive()):
        holders = leases.get(device.id, [])
        # A shared one is nobody's own: what is used of it cannot be told apart.
        owner = holders[0].labels if len(holders) == 1 and not holders[0].is_shared else {}
        labels = {**owner, "node_id": device.node_id, "device_id": device.id}
        _look_at_device(cells, at, labels, device)


def _look_at_device(cells: Cells, at: float, labels: _Labels, device: Device) -> None:
    cell = cells.at(Source.DEVICE, at, labels)
    if device.utilization_percent is not None:
        cell.look("device_utilization_ratio", device.utilization_percent / 100)
    if device.used_bytes is not None:
        cell.look("device_memory_used_bytes", device.used_bytes)
    if device.power_watts is not None:
        cell.look("device_power_watts", device.power_watts)


def _look_at_deployments(cells: Cells, at: float) -> None:
    live = Replica.objects.filter(state__in=(ReplicaState.READY, *_STARTING))
    states = Counter(
        (deployment_id, state == ReplicaState.READY)
        for deployment_id, state in live.values_list("deployment_id", "state")
    )
    ids = {deployment_id for deployment_id, _ in states}
    every = Deployment.objects.select_related("model")
    moment = datetime.fromtimestamp(at, UTC)
    loads = signals_at(moment, windows={_LOAD_SECONDS})
    for deployment in every.filter(wanted_replicas__gt=0) | every.filter(id__in=ids):
        cell = cells.at(Source.CONTROL_PLANE, at, _labels(deployment))
        cell.look("replicas_wanted", deployment.wanted_replicas)
        cell.look("replicas_ready", states[deployment.id, True])
        cell.look("replicas_starting", states[deployment.id, False])
        if not loads.missing:
            load = loads.of(deployment.id, window_seconds=_LOAD_SECONDS).load
            cell.look("requests_in_flight", load.requests)
            cell.look("tokens_in_flight", load.tokens)


def _count_failures(cells: Cells, at: float, since: float) -> None:
    ended = Replica.objects.filter(
        state=ReplicaState.FAILED, finished_at__gt=_moment(since), finished_at__lte=_moment(at)
    )
    for replica in ended.select_related("deployment__model"):
        labels = _labels(replica.deployment)
        cells.at(Source.CONTROL_PLANE, at, labels).count("replica_failures", 1)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _count_device_time(
    cells: Cells, at: float, leases: Mapping[str, list[_Lease]], passed: float
) -> None:
    prices = prices_now()
    for holder in (each for holders in leases.values() for each in holders):
        labels = {name: value for name, value in holder.labels.items()
                  if name not in ("replica_id", "node_id")}  # fmt: skip
        cell = cells.at(Source.CONTROL_PLANE, at, labels)
        seconds = passed * holder.share
        cell.count("device_seconds", seconds)
        if (price := prices.get(holder.kind)) is not None:
            cell.count("cost", seconds * float(price.per_hour) / _PER_HOUR)

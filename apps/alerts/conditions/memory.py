"""Engines of ours whose memory comes to its end: their KV cache, and the GPU itself."""

from collections.abc import Iterator

from django.db.models import F, FloatField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.deployments.models import Deployment, Replica
from apps.fleet.models import DeviceLease
from apps.fleet.selectors import nodes_alive
from apps.ui.formats import percent, size
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.lifecycle import ReplicaState

KV_FULL_RATIO = 0.95
DEVICE_LEFT_RATIO = 0.02
_HOLDER = "replica:"


def memory_conditions(_clock: Clock) -> Iterator[Condition]:
    """Give the replicas whose requests wait for KV cache, and the GPUs that are nearly full."""
    for replica in _full_caches():
        yield _cache(replica)
    leases = list(_full_devices())
    ids = [lease.holder.removeprefix(_HOLDER) for lease in leases]
    replicas = Replica.objects.select_related("deployment__model").in_bulk(ids)
    for lease in leases:
        if holder := replicas.get(lease.holder.removeprefix(_HOLDER)):
            yield _device(lease, holder.deployment)


def _full_caches() -> Iterator[Replica]:
    used = Cast(KT("metrics__kv_cache_used_ratio"), FloatField())
    waiting = Cast(KT("metrics__requests_waiting"), FloatField())
    rows = Replica.objects.filter(state=ReplicaState.READY, node__in=nodes_alive())
    rows = rows.annotate(kv_used=used, waiting=waiting)
    rows = rows.filter(kv_used__gte=KV_FULL_RATIO, waiting__gt=0)
    yield from rows.select_related("deployment__model").order_by("id")


def _cache(replica: Replica) -> Condition:
    metrics, deployment = replica.metrics or {}, replica.deployment
    used, waiting = percent(metrics["kv_cache_used_ratio"]), int(metrics["requests_waiting"])
    return _condition(
        AlertKindName.KV_CACHE_FULL, replica.id, deployment,
        f"Replica `{replica.id}` of {_named(deployment)} has {used} of its KV cache in "
        f"use, and {waiting} request{'s' * (waiting != 1)} wait{'s' * (waiting == 1)}.",
        "Add replicas, or give the KV cache more memory: a smaller `max_seq_len`, an FP8 KV cache "
        "or a larger GPU.",
    )  # fmt: skip


def _full_devices() -> Iterator[DeviceLease]:
    rows = DeviceLease.objects.filter(
        released_at=None, holder__startswith=_HOLDER, device__is_present=True,
        device__node__in=nodes_alive(),
        device__used_bytes__gt=F("device__memory_bytes") * (1 - DEVICE_LEFT_RATIO),
    )  # fmt: skip
    yield from rows.exclude(device__kind="CPU").select_related("device__node").order_by("id")


def _device(lease: DeviceLease, deployment: Deployment) -> Condition:
    device = lease.device
    left = max(0, device.memory_bytes - (device.used_bytes or 0))
    return _condition(
        AlertKindName.GPU_MEMORY, device.uuid, deployment,
        f"GPU {device.index} of node `{device.node.name}`, which serves {_named(deployment)}, has "
        f"{size(left) if left else 'nothing'} of its {size(device.memory_bytes)} left.",
        "The engine may run out of memory with its next large request: lower its share of the "
        "GPU's memory, its batch or its `max_seq_len`.",
    )  # fmt: skip


def _condition(
    kind: AlertKindName, subject: str, deployment: Deployment, sentence: str, hint: str
) -> Condition:
    return Condition(
        kind=kind,
        subject=subject,
        team_id=deployment.model.team_id,
        sentence=sentence,
        hint=hint,
        path=reverse("deployments:deployment", args=[deployment.model_id, deployment.id]),
    )


def _named(deployment: Deployment) -> str:
    return f"`{deployment.model.name}`, `{deployment.name}`"

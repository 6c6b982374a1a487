from collections.abc import Sequence
from typing import Any

from django.conf import settings

from apps.builds.remote_code import remote_code_of
from apps.deployments.models import Replica
from apps.deployments.selectors import served_model_name
from apps.fleet.models import DeviceLease, Node
from apps.fleet.selectors import computes_bfloat16
from controlplane.domain.lifecycle import REPLICA_TERMINAL


def wanted_replicas_of(*, node: Node) -> Sequence[dict[str, Any]]:
    rows = list(
        Replica.objects.filter(node=node)
        .exclude(state__in=REPLICA_TERMINAL)
        .select_related("deployment__model", "deployment__artifact")
        .order_by("ordered_at", "id")
    )
    devices = _devices_of([replica.device_holder for replica in rows])
    is_half = computes_bfloat16(node=node) if rows else False
    return [
        {**_wanted(replica, devices.get(replica.device_holder, [])), "computes_bfloat16": is_half}
        for replica in rows
    ]


def _wanted(replica: Replica, devices: list[str]) -> dict[str, Any]:
    deployment = replica.deployment
    return {
        "id": replica.id,
        "generation": replica.generation,
        "wanted": replica.wanted,
        "deployment_id": deployment.id,
        "model_id": deployment.model_id,
        "runtime": deployment.runtime,
        "spec": deployment.spec,
        "checkpoint": deployment.checkpoint,
        "content_digest": deployment.artifact.content_digest if deployment.artifact else None,
        "runs_remote_code": remote_code_of(deployment.artifact) is not None,
        "artifact_url": settings.ARTIFACT_URL,
        "served_model_name": served_model_name(deployment),
        "devices": devices,
        "memory_bytes": replica.memory_bytes,
    }


def _devices_of(holders: Sequence[str]) -> dict[str, list[str]]:
    devices: dict[str, list[str]] = {}
    leases = DeviceLease.objects.filter(holder__in=holders, released_at=None).select_related(
        "device"
    )
    for lease in leases.order_by("device__index"):
        devices.setdefault(lease.holder, []).append(lease.device.uuid)
    return devices

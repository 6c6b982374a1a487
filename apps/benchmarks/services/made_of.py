"""What a deployment is made of while it is measured: without it figures compare with nothing."""

from typing import Any

from apps.deployments.models import Deployment, Replica
from apps.deployments.selectors import reported_version
from apps.fleet.models import DeviceLease
from apps.fleet.selectors import gateways_live, prices_now
from controlplane.domain.lifecycle import ReplicaState


def made_of(deployment: Deployment) -> dict[str, Any]:
    """Return what the deployment runs on now, with its plan and what its engine reports."""
    ready = list(
        Replica.objects.filter(deployment=deployment, state=ReplicaState.READY)
        .select_related("node").order_by("id")
    )  # fmt: skip
    leases = _leases(ready)
    build = deployment.build
    revision = build.revision if build is not None else None
    report = next((each.report for each in ready if each.report), None) or {}
    return {
        "revision": f"{revision.config.name}@{revision.number}" if revision else None,
        "artifact_digest": deployment.artifact.content_digest if deployment.artifact else None,
        "runtime": deployment.runtime,
        "engine_version": next(filter(None, map(reported_version, ready)), None),
        "quantization_type": _quantization(deployment),
        "devices": sorted({each.device.name or each.device.kind for each in leases}),
        "device_kinds": sorted({each.device.kind for each in leases}),
        "driver": next((each.node.facts.get("driver") for each in ready), None),
        "replicas": len(ready),
        "gateways": gateways_live().count(),
        "cost_per_hour": _cost_per_hour(leases),
        "plan": revision.plan if revision else None,
        "reported_kv_tokens": report.get("kv_tokens"),
    }


def _leases(replicas: list[Replica]) -> list[DeviceLease]:
    holders = [each.device_holder for each in replicas]
    leases = DeviceLease.objects.filter(holder__in=holders, released_at=None)
    return list(leases.select_related("device"))


def _quantization(deployment: Deployment) -> str | None:
    quantization_type = ((deployment.spec.get("trt_llm") or {}).get("build") or {}).get(
        "quantization_type"
    )
    return str(quantization_type) if quantization_type else None


def _cost_per_hour(leases: list[DeviceLease]) -> float | None:
    """Return what its GPUs cost an hour; a shared one counts by its part. None without a price."""
    prices, total = prices_now(), 0.0
    for each in leases:
        if (price := prices.get(each.device.kind)) is None:
            return None
        share = min(1.0, each.memory_bytes / max(1, each.device.memory_bytes))
        total += float(price.per_hour) * share
    return total or None

"""Nodes: how they join, what they say of themselves, and whether they take new work."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from apps.accounts.audit.recording import audit
from apps.fleet.models import Device, Node
from apps.fleet.selectors import nodes_alive
from apps.fleet.services.clocks import clock_ahead
from apps.fleet.services.devices import devices_lock
from apps.fleet.services.enrollment import enrollment_begin
from apps.fleet.services.removing import NodeRemoved
from controlplane.domain.device_users import DeviceUser

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DeviceReport:
    """One GPU as its node's inventory found it."""

    index: int
    uuid: str
    kind: str
    memory_bytes: int
    name: str = ""
    computes_bfloat16: bool = False


@dataclass(frozen=True, kw_only=True)
class DeviceUse:
    """What goes on on a GPU: measured, whoever uses it."""

    used_bytes: int | None = None
    utilization_percent: float | None = None
    power_watts: float | None = None
    is_clean: bool = True
    used_by: tuple[DeviceUser, ...] = ()


@transaction.atomic
def node_enroll(
    *,
    token: str,
    name: str,
    credential_sha256: str,
    address: str,
    engine_ports: tuple[int, int],
    boot_id: str,
    agent_version: str,
    host_memory_bytes: int,
    facts: Mapping[str, Any],
    devices: Sequence[DeviceReport],
) -> Node:
    """Return the node of that name, now with this credential; its earlier credential ends.

    A repeat, of which the first answer was lost, changes nothing. Raises EnrollmentRefused.
    """
    known = enrollment_begin(
        Node.objects.all(), token=token, joiner=f"node:{name}", credential_sha256=credential_sha256
    )
    if known is not None:
        return known
    named = Q(node__name=name) | Q(uuid__in=[device.uuid for device in devices])
    devices_lock(Device.objects.filter(named))
    lowest, highest = engine_ports
    node, _ = Node.objects.update_or_create(
        name=name,
        defaults={
            "address": address,
            "lowest_engine_port": lowest,
            "highest_engine_port": highest,
            "boot_id": boot_id,
            "agent_version": agent_version,
            "host_memory_bytes": host_memory_bytes,
            "facts": dict(facts),
            "credential_sha256": credential_sha256,
            "last_heartbeat_at": Now(),
            "removed_at": None,
        },
    )
    _devices_store(node, {device: DeviceUse() for device in devices})
    node.refresh_from_db()
    audit("node.enroll", node, team=None, after={"address": address})
    return node


@transaction.atomic
def node_observe(
    *,
    node: Node,
    boot_id: str,
    devices: Mapping[DeviceReport, DeviceUse],
    runtimes: Sequence[str] = (),
    sent_at: float | None = None,
    disk_free_bytes: int | None = None,
) -> None:
    """Record a sign of life, the state of every GPU, and how its host is.

    Raises NodeRemoved, and records nothing, where the node was removed meanwhile.
    """
    _devices_store(node, devices)
    updated = Node.objects.filter(id=node.id, removed_at=None).update(
        last_heartbeat_at=Now(),
        boot_id=boot_id,
        runtimes=list(runtimes),
        clock_ahead_seconds=clock_ahead(sent_at=sent_at),
        disk_free_bytes=disk_free_bytes,
    )
    if not updated:
        raise NodeRemoved


def node_versions_note(*, node: Node, versions: Mapping[str, str]) -> None:
    known = {**node.runtime_versions, **versions}
    if known != node.runtime_versions:
        Node.objects.filter(id=node.id).update(runtime_versions=known)


def node_wanted_version_bump(*, node_ids: Collection[str]) -> None:
    nodes_lock(node_ids=node_ids)
    Node.objects.filter(id__in=node_ids).update(wanted_version=F("wanted_version") + 1)


def nodes_lock(*, node_ids: Collection[str]) -> None:
    """Lock these nodes in one order, so that two sweeps never wait for each other."""
    list(Node.objects.filter(id__in=node_ids).order_by("id").select_for_update(no_key=True))


def _devices_store(node: Node, devices: Mapping[DeviceReport, DeviceUse]) -> None:
    known = {device.uuid: device for device in Device.objects.filter(node=node)}
    gone = known.keys() - {report.uuid for report in devices}
    values_by_uuid = {report.uuid: _values(report, use) for report, use in devices.items()}
    changed = {
        uuid: values
        for uuid, values in values_by_uuid.items()
        if uuid not in known or _differs(known[uuid], values)
    }
    lost = [known[uuid].id for uuid in gone if known[uuid].is_present]
    devices_lock(Device.objects.filter(Q(id__in=lost) | Q(uuid__in=changed)))
    Device.objects.filter(id__in=lost).update(is_present=False)
    for uuid, values in changed.items():
        _device_store(node, uuid, values, is_new=uuid not in known)


def _values(report: DeviceReport, use: DeviceUse) -> dict[str, Any]:
    return {
        "index": report.index,
        "kind": report.kind,
        "name": report.name,
        "memory_bytes": report.memory_bytes,
        "computes_bfloat16": report.computes_bfloat16,
        "used_bytes": use.used_bytes,
        "utilization_percent": use.utilization_percent,
        "power_watts": use.power_watts,
        "is_clean": use.is_clean,
        "used_by": [each.to_json() for each in use.used_by],
        "is_present": True,
    }


def _differs(device: Device, values: Mapping[str, Any]) -> bool:
    return any(getattr(device, field) != value for field, value in values.items())


def _device_store(node: Node, uuid: str, values: Mapping[str, Any], *, is_new: bool) -> None:
    if is_new and _is_seen_elsewhere(uuid):
        _log.warning("node %s claims GPU %s, which another node shows", node.name, uuid)
        return
    # A GPU that moved to another slot, or to another host, keeps its identity, and with it the
    # claims on it. No row is ever deleted: that would end claims of what still runs.
    Device.objects.update_or_create(uuid=uuid, defaults={**values, "node": node})


def _is_seen_elsewhere(uuid: str) -> bool:
    """Return whether a live node shows the GPU; none may take it away from there."""
    return Device.objects.filter(uuid=uuid, is_present=True, node__in=nodes_alive()).exists()

"""Nodes, GPUs, disks and clocks that all teams share."""

from collections.abc import Iterator

from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.alerts.conditions.troubles import Trouble, troubles
from apps.alerts.models import Severity
from apps.builds.selectors import store_check
from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.selectors import nodes_alive, nodes_silent
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName


def machine_conditions(_clock: Clock) -> Iterator[Condition]:
    for node in nodes_silent().filter(removed_at=None).order_by("name"):
        yield _silent(node)
    for device in _used_by_others():
        yield _taken(device)
    yield from _store()
    yield from map(condition_of, troubles())


def condition_of(trouble: Trouble) -> Condition:
    return Condition(
        kind=AlertKindName(trouble.code),
        subject=trouble.subject,
        team_id=None,
        severity=Severity.CRITICAL,
        sentence=trouble.sentence,
        path=reverse("fleet:list"),
    )


def _silent(node: Node) -> Condition:
    return Condition(
        kind=AlertKindName.NODE_SILENT,
        subject=node.name,
        team_id=None,
        severity=Severity.CRITICAL,
        sentence=f"The node `{node.name}` is silent. What it served goes on where a gateway "
        "reaches it, and nothing new starts there.",
        hint="Look at the host and its agent; a node that is gone for good can be removed.",
        path=reverse("node_page", args=[node.id]),
        began_at=node.last_heartbeat_at,
    )


def _store() -> Iterator[Condition]:
    check = store_check()
    if check is not None and check.failure is not None:
        yield Condition(
            kind=AlertKindName.ARTIFACT_STORE,
            subject="store",
            team_id=None,
            severity=Severity.CRITICAL,
            sentence="The artifact store cannot be used, so builds and starts fail; what runs goes "
            f"on. {check.failure['sentence']}",
            hint=check.failure.get("hint") or "",
            path=reverse("fleet:list"),
            began_at=check.since,
        )


def _used_by_others() -> list[Device]:
    leased = DeviceLease.objects.filter(released_at=None).values("device_id")
    devices = Device.objects.filter(is_present=True, node__in=nodes_alive()).exclude(id__in=leased)
    rows = devices.exclude(kind="CPU").select_related("node").order_by("node__name", "index")
    return [device for device in rows if device.others]


def _taken(device: Device) -> Condition:
    return Condition(
        kind=AlertKindName.DEVICE_MEMORY,
        subject=device.uuid,
        team_id=None,
        sentence=f"On node `{device.node.name}`: {device.others}",
        hint="End that process, or cordon the node: nothing starts on the GPU meanwhile.",
        path=reverse("fleet:list"),
    )

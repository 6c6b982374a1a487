"""The end of a node: what it held is free, and its agent is fenced off."""

from django.db import transaction
from django.db.models.functions import Now

from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.services.devices import devices_lock


class NodeRemoved(Exception):
    """The node was removed; nothing that its agent says counts."""


def node_devices_lock(*, node: Node) -> None:
    """Lock the node's GPUs: from now on nobody claims one until the transaction ends."""
    devices_lock(Device.objects.filter(node=node))


@transaction.atomic
def node_fence(*, node: Node) -> bool:
    """Return whether this call took the node out; its claims end, its credential opens nothing."""
    node_devices_lock(node=node)
    fenced = Node.objects.filter(id=node.id, removed_at=None).update(
        removed_at=Now(), last_heartbeat_at=None, cordoned=False, draining_since=None
    )
    if fenced:
        DeviceLease.objects.filter(device__node=node, released_at=None).update(released_at=Now())
        Device.objects.filter(node=node).update(is_present=False)
    node.refresh_from_db()
    return bool(fenced)

"""Whether a node takes work: cordoned, drained and back, each change made once.

GPUs are locked before their node, as everywhere: a claim that is under way is seen, and none is
made after.
"""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.audit.recording import audit
from apps.fleet.models import Device, Node
from apps.fleet.services.devices import devices_lock


def node_cordon(*, node: Node) -> bool:
    """Return whether this call cordoned it: nothing new is placed there, what runs stays."""
    return _change(node, "cordon", {"cordoned": False}, {"cordoned": True})


def node_uncordon(*, node: Node) -> bool:
    """Return whether this call opened the node to work again, which ends a drain as well."""
    return _change(
        node, "uncordon", {"cordoned": True}, {"cordoned": False, "draining_since": None}
    )


def node_drain(*, node: Node) -> bool:
    """Return whether this call began to move replicas off the node, which it cordons too."""
    return _change(
        node, "drain", {"draining_since": None}, {"cordoned": True, "draining_since": Now()}
    )


def node_undrain(*, node: Node) -> bool:
    """Return whether this call ended the drain: what is still there stays, nothing new comes."""
    return _change(node, "undrain", {"draining_since__isnull": False}, {"draining_since": None})


@transaction.atomic
def _change(node: Node, action: str, old: dict[str, Any], new: dict[str, Any]) -> bool:
    devices_lock(Device.objects.filter(node=node))
    changed = Node.objects.filter(id=node.id, **old).update(**new)
    if changed:
        audit(f"node.{action}", node, team=None)
    node.refresh_from_db()
    return bool(changed)

"""Machines for tests: nodes with cards, and gateways, as if they had enrolled."""

from typing import Any

from django.utils import timezone

from apps.fleet.credentials import hash_of
from apps.fleet.models import Card, Gateway, Node
from apps.rest.identifiers import new_id

GIB = 1024**3


def make_serving_node(**changes: Any) -> Node:
    """Return a node that spoke just now, with one CPU card of 8 GiB; its credential is its name."""
    name = changes.pop("name", f"node-{new_id()}")
    memory_bytes = changes.pop("memory_bytes", 8 * GIB)
    node = Node.objects.create(
        **{
            "name": name,
            "address": "127.0.0.1",
            "boot_id": "boot-1",
            "credential_sha256": hash_of(name),
            "last_heartbeat_at": timezone.now(),
            **changes,
        }
    )
    make_serving_card(node=node, kind="CPU", memory_bytes=memory_bytes)
    return node


def make_serving_card(**changes: Any) -> Card:
    """Return a card, by default the next GPU of its node."""
    index = Card.objects.filter(node=changes["node"]).count()
    return Card.objects.create(
        **{
            "index": index,
            "uuid": f"card-{new_id()}",
            "kind": "H100",
            "memory_bytes": 80 * GIB,
            **changes,
        }
    )


def make_gateway(**changes: Any) -> Gateway:
    """Return a gateway that polled just now; its credential is its name."""
    name = changes.pop("name", f"gateway-{new_id()}")
    return Gateway.objects.create(
        **{
            "name": name,
            "credential_sha256": hash_of(name),
            "last_seen_at": timezone.now(),
            **changes,
        }
    )

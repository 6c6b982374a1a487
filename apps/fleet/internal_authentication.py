from django.http import HttpRequest

from apps.fleet.models import Gateway, Node
from apps.fleet.selectors import gateway_by_credential, node_by_credential
from apps.rest.internal import InternalRefusal, bearer
from controlplane.domain.wire.removal import removal_signature

_UNKNOWN = "This credential is unknown or was replaced by a newer enrollment; enroll again."


def calling_node(request: HttpRequest) -> Node:
    """Return the node whose credential the request carries. Raises InternalRefusal."""
    node = node_by_credential(bearer(request))
    if node is None:
        raise unknown_credential()
    if node.removed_at is not None:
        raise removed(node)
    return node


def unknown_credential() -> InternalRefusal:
    """Return the refusal of a credential that is not known."""
    return InternalRefusal(401, "unknown_credential", _UNKNOWN)


def removed(node: Node) -> InternalRefusal:
    """Return what a removed node is told: signed, since its agent ends what it runs on it."""
    signature = removal_signature(credential_sha256=node.credential_sha256, node_id=node.id)
    return InternalRefusal(
        410,
        "node_removed",
        f"Node `{node.name}` was removed.",
        hint="To bring it back, start its agent with a new ENROLLMENT_TOKEN.",
        details={"node_id": node.id, "signature": signature},
    )


def calling_gateway(request: HttpRequest) -> Gateway:
    """Return the gateway whose credential the request carries. Raises InternalRefusal."""
    gateway = gateway_by_credential(bearer(request))
    if gateway is None:
        raise unknown_credential()
    return gateway

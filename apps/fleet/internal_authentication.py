"""Which node or gateway is calling /internal/v1."""

from django.http import HttpRequest

from apps.fleet.models import Gateway, Node
from apps.fleet.selectors import gateway_by_credential, node_by_credential
from apps.rest.internal import InternalRefusal, bearer

_UNKNOWN = "This credential is unknown or was replaced by a newer enrollment; enroll again."


def calling_node(request: HttpRequest) -> Node:
    """Return the node whose credential the request carries. Raises InternalRefusal."""
    node = node_by_credential(bearer(request))
    if node is None:
        raise InternalRefusal(401, "unknown_credential", _UNKNOWN)
    return node


def calling_gateway(request: HttpRequest) -> Gateway:
    """Return the gateway whose credential the request carries. Raises InternalRefusal."""
    gateway = gateway_by_credential(bearer(request))
    if gateway is None:
        raise InternalRefusal(401, "unknown_credential", _UNKNOWN)
    return gateway

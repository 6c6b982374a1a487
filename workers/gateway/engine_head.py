"""What an engine receives for one request."""

from workers.gateway.headers import request_head
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared
from workers.gateway.responses.chat_request import CHAT_ROUTE
from workers.gateway.tracing import Trace


def engine_head(
    request: Request,
    prepared: Prepared,
    admission: Admission,
    *,
    authority: bytes,
    id: bytes,
    trace: Trace | None,
) -> bytes:
    """Return the head of the request that goes to the replica at `authority`."""
    is_chat_instead = prepared.asked_response is not None
    route = (CHAT_ROUTE if is_chat_instead else admission.route).encode("latin-1", "replace")
    return request_head(
        method=request.method,
        route=route + b"?" + request.query if request.query else route,
        authority=authority,
        headers=request.headers,
        named_by_connection=request.connection,
        is_traced=b"traceparent" in request.named,
        traceparent=None if trace is None else trace.traceparent,
        body_bytes=len(prepared.body),
        request_id=id,
    )

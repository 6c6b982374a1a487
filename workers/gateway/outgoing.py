"""What an engine receives, and how its answer is read, for one request."""

from workers.gateway.headers import Header, request_head
from workers.gateway.reply import Reply
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared


def engine_head(
    request: Request, prepared: Prepared, admission: Admission, *, authority: bytes, id: bytes
) -> bytes:
    """Return the head of the request that goes to the replica at `authority`."""
    route = admission.route.encode("latin-1", "replace")
    return request_head(
        method=request.method,
        route=route + b"?" + request.query if request.query else route,
        authority=authority,
        headers=request.headers,
        named_by_connection=request.connection,
        is_traced=b"traceparent" in request.named,
        body_bytes=len(prepared.body),
        request_id=id,
    )


def reply_to(
    request: Request,
    prepared: Prepared,
    admission: Admission,
    *,
    status: int,
    headers: list[Header],
    id: bytes,
    closes: bool,
) -> Reply:
    """Return the reply that an engine's answer with this head becomes."""
    return Reply(
        status=status,
        headers=headers,
        request_id=id,
        http_10=request.http_10,
        closes=closes,
        has_body=request.method != b"HEAD",
        openai=admission.route.startswith("/v1/"),
        hides_usage=prepared.hides_usage,
    )

from workers.gateway.headers import lines_of_trace, lines_to_engines
from workers.gateway.request import Admission, Request
from workers.gateway.request_body import Prepared
from workers.gateway.responses.chat_request import CHAT_ROUTE
from workers.gateway.tracing import Trace

_WITHOUT_BODY = frozenset({b"GET", b"HEAD", b"OPTIONS", b"DELETE"})


def engine_head(
    request: Request,
    prepared: Prepared,
    admission: Admission,
    *,
    authority: bytes,
    id: bytes,
    trace: Trace | None,
) -> bytes:
    """Return the head of the request that goes to the replica at `authority`.

    Its body always has a length.
    """
    path = CHAT_ROUTE if prepared.response_parameters is not None else admission.route
    route = path.encode("latin-1", "replace")
    if request.query:
        route += b"?" + request.query
    lines = request.known.to_engines if request.known is not None else _lines(request)
    if trace is not None or b"traceparent" in request.named:
        lines += lines_of_trace(request.headers, None if trace is None else trace.traceparent)
    if prepared.body or request.method not in _WITHOUT_BODY:
        lines += b"content-length: %d\r\n" % len(prepared.body)
    return b"%b %b HTTP/1.1\r\nhost: %b\r\n%bx-request-id: %b\r\n\r\n" % (
        request.method, route, authority, lines, id,
    )  # fmt: skip


def _lines(request: Request) -> bytes:
    return lines_to_engines(request.headers, request.connection)

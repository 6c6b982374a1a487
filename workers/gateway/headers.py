"""Which headers cross the gateway, as bytes; everything here runs once per request."""

from collections.abc import Iterable, Sequence

from workers.gateway.refusals import REASONS

Header = tuple[bytes, bytes]

# Hop-by-hop (RFC 9110, 7.6.1), credentials, what a client could use to pose as a proxy,
# and what the gateway decides itself: framing, ids, compression (usage is read on the way).
_KEPT_FROM_ENGINES = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade",
        b"transfer-encoding", b"content-length", b"host", b"expect", b"http2-settings",
        b"authorization", b"proxy-authorization", b"proxy-authenticate", b"cookie",
        b"forwarded", b"via", b"accept-encoding", b"x-real-ip",
        b"x-request-id", b"x-baseten-request-id",
    }
)  # fmt: skip
_KEPT_FROM_CLIENTS = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade",
        b"transfer-encoding", b"content-length", b"server", b"date", b"set-cookie",
        b"proxy-authenticate", b"alt-svc", b"x-request-id", b"x-baseten-request-id",
    }
)  # fmt: skip


def request_head(
    *,
    method: bytes,
    route: bytes,
    authority: bytes,
    headers: Sequence[Header],
    named_by_connection: bytes,
    body_bytes: int,
    request_id: bytes,
) -> bytes:
    """Return the head that an engine receives; its body always has a length."""
    lines = [b"%b %b HTTP/1.1\r\nhost: %b" % (method, route, authority)]
    lines += _crossing(headers, _KEPT_FROM_ENGINES, named_by_connection)
    if body_bytes or method not in (b"GET", b"HEAD", b"OPTIONS", b"DELETE"):
        lines.append(b"content-length: %d" % body_bytes)
    lines.append(b"x-request-id: %b\r\n\r\n" % request_id)
    return b"\r\n".join(lines)


def response_head(
    *,
    status: int,
    headers: Sequence[Header],
    named_by_connection: bytes,
    ours: Iterable[bytes],
    request_id: bytes,
) -> bytes:
    """Return the head that a client receives; `ours` are whole lines, framing among them."""
    lines = [b"HTTP/1.1 %d %b" % (status, REASONS.get(status, b""))]
    lines += _crossing(headers, _KEPT_FROM_CLIENTS, named_by_connection)
    lines += ours
    lines.append(b"x-request-id: %b\r\nx-baseten-request-id: %b\r\n\r\n" % (request_id, request_id))
    return b"\r\n".join(lines)


def _crossing(
    headers: Sequence[Header], dropped: frozenset[bytes], named_by_connection: bytes
) -> list[bytes]:
    """Return the header lines that cross; names listed in Connection are hop-by-hop too."""
    if named_by_connection:
        names = named_by_connection.lower().split(b",")
        dropped = dropped.union(name.strip() for name in names)
    return [
        b"%b: %b" % (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith(b"x-forwarded-")
    ]

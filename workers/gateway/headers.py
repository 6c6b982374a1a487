"""Which headers cross the gateway, as bytes; everything here runs once per request."""

import re
from collections.abc import Iterable, Sequence

from workers.gateway.refusals import REASONS

Header = tuple[bytes, bytes]

# Framing, connections, credentials, proxies, ids and compression are the gateway's own to decide.
_TO_ENGINES = frozenset(
    {
        b"accept", b"accept-language", b"anthropic-beta", b"anthropic-version", b"baggage",
        b"content-encoding", b"content-language", b"content-type", b"user-agent",
    }
)  # fmt: skip
_TO_CLIENTS = frozenset(
    {
        b"age", b"allow", b"cache-control", b"content-disposition", b"content-encoding",
        b"content-language", b"content-type", b"deprecation", b"etag", b"expires", b"last-modified",
        b"retry-after", b"server-timing", b"sunset", b"vary", b"warning", b"x-accel-buffering",
        b"x-compute-characters", b"x-compute-time", b"x-compute-tokens", b"x-compute-type",
        b"x-inference-time", b"x-prompt-tokens", b"x-queue-time", b"x-tokenization-time",
        b"x-total-time", b"x-validation-time",
    }
)  # fmt: skip
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LONGEST_TRACESTATE_BYTES = 512


def lines_to_engines(headers: Sequence[Header], named_by_connection: bytes) -> bytes:
    lines = _crossing(headers, _TO_ENGINES, named_by_connection)
    return b"".join([line + b"\r\n" for line in lines])


def lines_of_trace(headers: Sequence[Header], traceparent: bytes | None) -> bytes:
    """Return the lines that carry a trace on.

    With a `traceparent` of the gateway's own, the engine's spans are below the gateway's.
    """
    return b"".join([line + b"\r\n" for line in _trace(headers, traceparent)])


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
    lines += _crossing(headers, _TO_CLIENTS, named_by_connection)
    lines += ours
    lines.append(b"x-request-id: %b\r\nx-baseten-request-id: %b\r\n\r\n" % (request_id, request_id))
    return b"\r\n".join(lines)


def _crossing(
    headers: Sequence[Header], listed: frozenset[bytes], named_by_connection: bytes
) -> list[bytes]:
    """Return the header lines that cross; names listed in Connection are hop-by-hop too."""
    if named_by_connection:
        names = named_by_connection.lower().split(b",")
        listed = listed.difference(name.strip() for name in names)
    return [name + b": " + value for name, value in headers if name in listed]


def _trace(headers: Sequence[Header], ours: bytes | None) -> list[bytes]:
    """Return the lines that carry a trace on, where there is one in the form that W3C gives it."""
    parents = [value for name, value in headers if name == b"traceparent"]
    if len(parents) != 1 or not _TRACEPARENT.fullmatch(parents[0]):
        return [] if ours is None else [b"traceparent: " + ours]
    states = b",".join(value for name, value in headers if name == b"tracestate")
    lines = [b"traceparent: " + (ours or parents[0])]
    if 0 < len(states) <= _LONGEST_TRACESTATE_BYTES:
        lines.append(b"tracestate: " + states)
    return lines

"""Heads that two readers could read differently: refused, whatever an engine would make of them."""

from collections import Counter
from collections.abc import Sequence

from workers.gateway.headers import Header
from workers.gateway.refusals import Refusal, malformed
from workers.gateway.request import Request

# A second one of these would be read by some and passed over by others.
_ONCE = frozenset(
    {b"host", b"authorization", b"content-type", b"content-length", b"expect", b"transfer-encoding"}
)
_SHOWN_BYTES = 60
_VERSIONS = frozenset({"1.0", "1.1"})


def ambiguity(request: Request, version: str) -> Refusal | None:
    if version not in _VERSIONS:
        return malformed(f"HTTP/{version} is not spoken here. Send HTTP/1.1.", status=505)
    if request.http_10 and request.chunked:
        return malformed("HTTP/1.0 knows no `Transfer-Encoding`. Send a `Content-Length`.")
    if not request.http_10 and b"host" not in request.named:
        return malformed("HTTP/1.1 wants a `Host`, and this head has none.")
    return _repeated(request) or _coding(request)


def _coding(request: Request) -> Refusal | None:
    """Return why a body is refused that was coded before it was cut into chunks, or None.

    The chunks are taken apart here and nothing else: its engine would read packed bytes as JSON.
    """
    coding = request.named.get(b"transfer-encoding", b"chunked")
    if coding.strip().lower() == b"chunked":
        return None
    shown = coding[:_SHOWN_BYTES].decode("latin-1")
    words = f"`Transfer-Encoding: {shown}` is not taken here. Send `chunked` or a `Content-Length`."
    return malformed(words)


def _repeated(request: Request) -> Refusal | None:
    if len(request.named) + (request.content_length is not None) == len(request.headers):
        return None
    names = [name for name, _ in request.headers]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name in _ONCE]
    if not repeated:
        return None
    return malformed(f"The head holds `{repeated[0].decode('latin-1')}` twice. Send it once.")


def is_other_protocol(raw_head: bytes) -> bool:
    """Whether a head that was read as HTTP/1.0 is another protocol's, such as RTSP/1.0."""
    return b" HTTP/1.0\r\n" not in raw_head


def is_chunked_once(headers: Sequence[Header]) -> bool:
    """Whether the parser takes an answer's chunks apart: of another coding it hands on frames."""
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    return codings == [b"chunked"]

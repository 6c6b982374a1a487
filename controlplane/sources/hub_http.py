"""The HTTP library that huggingface_hub speaks with here: `httpx2` since 2.0, `httpx` before.

transformers 5.17 wants a hub client before 2.0, the newest wants one after. Both libraries have
the same names; an error has to be caught under the one that raises it.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from controlplane.clock import Clock

if TYPE_CHECKING or int(version("huggingface_hub").split(".")[0]) >= 2:
    import httpx2 as http
else:
    import httpx as http

__all__ = ["between", "http", "shortened", "whole"]

LONGEST_DESCRIPTION_BYTES = 64 * 1024 * 1024
"""Some 300 bytes for each file of a repository."""
_LONGEST_ERROR_BYTES = 64 * 1024
_WHOLE_SECONDS = 120.0
_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def whole(response: http.Response, *, clock: Clock) -> bytes:
    """Return the body of a description. Raises an `http.TransportError` where it has no end."""
    content, ends_at = bytearray(), clock.monotonic() + _WHOLE_SECONDS
    for piece in response.iter_bytes():
        content += piece
        if len(content) > LONGEST_DESCRIPTION_BYTES:
            words = f"an answer of more than {LONGEST_DESCRIPTION_BYTES} bytes"
            raise http.RemoteProtocolError(words, request=response.request)
        if clock.monotonic() > ends_at:
            words = f"no whole answer within {_WHOLE_SECONDS:g} s"
            raise http.ReadTimeout(words, request=response.request)
    return bytes(content)


def between(response: http.Response, skip: int, count: int) -> bytes:
    """Return `count` bytes of the body after the first `skip`, and read no further."""
    content = bytearray()
    for piece in response.iter_bytes():
        passed = min(skip, len(piece))
        skip -= passed
        content += piece[passed:][: count - len(content)]
        if len(content) >= count:
            break
    return bytes(content)


def shortened(response: http.Response) -> http.Response:
    """Return an answer that says no, with so much of its body as tells why."""
    headers = [each for each in response.headers.multi_items() if each[0] not in _OF_THE_BODY]
    return http.Response(
        response.status_code,
        headers=headers,
        content=between(response, 0, _LONGEST_ERROR_BYTES),
        request=response.request,
    )

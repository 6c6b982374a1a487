"""One request, read whole, and its answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

Headers = Iterable[tuple[bytes, bytes]]
JSON_TYPE = (b"content-type", b"application/json")

_REASONS: Mapping[int, bytes] = {each.value: each.phrase.encode() for each in HTTPStatus}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    method: str
    target: bytes
    """Path and query, as sent."""
    version: str
    headers: Sequence[tuple[bytes, bytes]]
    """Names in small letters."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    status: int = 200
    headers: Headers = (JSON_TYPE,)
    body: bytes = b""

    def written(self, *, closes: bool, has_body: bool) -> bytes:
        reason = _REASONS.get(self.status, b"Unknown")
        lines = [b"HTTP/1.1 %d %s" % (self.status, reason)]
        names = set()
        for name, value in self.headers:
            names.add(name)
            lines.append(b"%s: %s" % (name, value))
        if b"content-length" not in names:
            lines.append(b"content-length: %d" % len(self.body))
        if closes:
            lines.append(b"connection: close")
        return b"\r\n".join([*lines, b"", self.body if has_body else b""])


Answer = Callable[[Answered], None]
Leave = Callable[[], None]
"""Called when the client has gone before its answer."""


class Handler(Protocol):
    def __call__(self, request: ClientRequest, answer: Answer) -> Leave:
        """Begin; `answer` is called once, on the loop's thread."""

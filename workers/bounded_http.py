"""Questions over HTTP to neighbours: control plane and engines.

All of an answer is bounded, its head and trailers too: in bytes, and in seconds, however slowly it
comes. No redirect is followed, since the request may carry a credential, and no proxy is used.
"""

import http.client
import io
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from controlplane.clock import SYSTEM, Clock

_PIECE_BYTES = 65_536


class NoAnswer(OSError):
    """Nobody answered, or not as HTTP wants it, or without an end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    seconds: float
    most_bytes: int
    clock: Clock = SYSTEM


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    content: bytes


class Answering:
    """An answer whose body is still to come."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.close = response.close

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes. Raises NoAnswer where it breaks off or has no end."""
        # `read1` of some Python versions reads beyond the length that was declared.
        response = self._response
        read = response.read1 if response.length is None else response.read
        try:
            while piece := read(_PIECE_BYTES):
                yield piece
            if response.length:
                raise NoAnswer(f"it broke off {response.length} bytes before its end")
        except _FAULTS as error:
            raise _no_answer(error) from error


def ask(
    method: str,
    url: str,
    *,
    limits: Limits,
    json_body: object = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return the answer, whatever its status. Raises NoAnswer."""
    with opened(method, url, limits=limits, json_body=json_body, headers=headers) as answering:
        return Answer(status=answering.status, content=b"".join(answering.pieces()))


@contextmanager
def opened(
    method: str,
    url: str,
    *,
    limits: Limits,
    json_body: object = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[Answering]:
    """Give an answer as soon as its head is here. Raises NoAnswer."""
    sent = dict(headers or {})
    body = None
    if json_body is not None:
        body, sent["Content-Type"] = json.dumps(json_body).encode(), "application/json"
    with (
        closing(_connection(urlsplit(url), limits)) as connection,
        closing(_answered(connection, method, url, body, sent)) as answering,
    ):
        yield answering


_FAULTS = (OSError, http.client.HTTPException, ValueError)


def _connection(url: SplitResult, limits: Limits) -> http.client.HTTPConnection:
    try:
        host, port, seconds = url.hostname or "", url.port, limits.seconds
        connection = (
            http.client.HTTPSConnection(host, port, timeout=seconds, context=_trusted())
            if url.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=seconds)
        )
    except _FAULTS as error:
        raise _no_answer(error) from error
    ends_at = limits.clock.monotonic() + seconds
    connection.response_class = partial(  # type: ignore[assignment]  # a class is all it expects
        _BoundedResponse, limits=limits, ends_at=ends_at
    )
    return connection


def _answered(
    connection: http.client.HTTPConnection,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> Answering:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(method, target, body, headers)
        return Answering(connection.getresponse())
    except _FAULTS as error:
        raise _no_answer(error) from error


class _BoundedResponse(http.client.HTTPResponse):
    def __init__(
        self, connection: socket.socket, *rest: Any, limits: Limits, ends_at: float, **named: Any
    ) -> None:
        super().__init__(connection, *rest, **named)
        self.fp = io.BufferedReader(_Bounded(self.fp.detach(), connection, limits, ends_at))


class _Bounded(io.RawIOBase):
    """What comes on a connection, as far as the limits go."""

    def __init__(
        self, raw: io.RawIOBase, connection: socket.socket, limits: Limits, ends_at: float
    ) -> None:
        self._raw, self._connection, self._limits = raw, connection, limits
        self._ends_at, self._bytes_left = ends_at, limits.most_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read once. Raises NoAnswer beyond a limit."""
        seconds_left = self._ends_at - self._limits.clock.monotonic()
        if seconds_left <= 0:
            raise NoAnswer(f"no whole answer within {self._limits.seconds:g} s")
        self._connection.settimeout(seconds_left)
        count: int | None = self._raw.readinto(buffer)
        self._bytes_left -= count or 0
        if self._bytes_left < 0:
            raise NoAnswer(f"an answer of more than {self._limits.most_bytes} bytes")
        return count

    def close(self) -> None:
        super().close()
        self._raw.close()


def _no_answer(error: Exception) -> NoAnswer:
    """Return the error in words, once: one that is told already stays as it is."""
    if isinstance(error, NoAnswer):
        return error
    return NoAnswer(f"{type(error).__name__}: {error}")


@cache
def _trusted() -> ssl.SSLContext:
    """Return the trusted certificates, which take a while to read."""
    return ssl.create_default_context()

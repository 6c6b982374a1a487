"""Refuses request bodies that are too long before Django spools them to the disk."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.rest.errors import Unavailable

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
_UNAVAILABLE = Unavailable(
    "The database has no answer for us right now.", hint="Send the request again."
).to_json()


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How long a body may be, and what to do where that is too short."""

    bytes: int
    hint: str | None = None


LimitOf = Callable[[Scope], Awaitable[Limit | None]]
"""None where it cannot be told now."""


class BodyLimit:
    """An ASGI application around another one, which never sees more than a limit.

    `limit_of` is asked about bodies that announce more than `limit_bytes`; one that announces
    nothing may not be longer than that.
    """

    def __init__(
        self, application: Application, *, limit_bytes: int, limit_of: LimitOf | None = None
    ) -> None:
        self._application = application
        self._usual = Limit(bytes=limit_bytes)
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        announced, limit = _announced(scope), self._usual
        if announced > limit.bytes and self._limit_of is not None:
            limit_of_scope = await self._limit_of(scope)
            if limit_of_scope is None:
                await _answer(503, _UNAVAILABLE, send, (b"retry-after", b"2"))
                return
            limit = limit_of_scope
        if announced > limit.bytes:
            await _refuse(limit, send)
        else:
            await self._counted(limit, scope, receive, send)

    async def _counted(self, limit: Limit, scope: Scope, receive: Receive, send: Send) -> None:
        """A chunked body announces no length; past the limit the client counts as gone."""
        seen = 0

        async def receive_some() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return message if seen <= limit.bytes else {"type": "http.disconnect"}

        await self._application(scope, receive_some, send)
        if seen > limit.bytes:
            await _refuse(limit, send)


async def _refuse(limit: Limit, send: Send) -> None:
    body: dict[str, object] = {
        "code": "too_large",
        "message": f"The body is larger than {limit.bytes // 1000:,} kB.",
        "fields": [],
        "hint": limit.hint,
        "source": None,
    }
    await _answer(413, body, send)


async def _answer(
    status: int, body: Mapping[str, object], send: Send, *more: tuple[bytes, bytes]
) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0

"""Refuses request bodies that are too long before Django spools them to the disk."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class BodyLimit:
    """An ASGI application around another one, which never sees more than `limit_bytes`."""

    def __init__(self, application: Application, *, limit_bytes: int) -> None:
        self._application = application
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
        elif _announced(scope) > self._limit_bytes:
            await self._refuse(send)
        else:
            await self._counted(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A chunked body announces no length; past the limit the client counts as gone."""
        seen = 0

        async def receive_some() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return message if seen <= self._limit_bytes else {"type": "http.disconnect"}

        await self._application(scope, receive_some, send)
        if seen > self._limit_bytes:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        body = json.dumps(
            {
                "code": "too_large",
                "message": f"The body is larger than {self._limit_bytes // 1000:,} kB.",
                "fields": [],
                "hint": None,
                "source": None,
            }
        ).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0

"""Requests that an ASGI application answers."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from workers.engine.server.front.exchange import Answer, Answered, ClientRequest, Leave

log = logging.getLogger(__name__)

_FAILED = Answered(status=500, body=b'{"error": "The engine failed on this request."}')


class Bridge:
    """Calls an application with a request that is there whole; it answers at once, or leaves."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, request: ClientRequest, answer: Answer) -> Leave:
        left = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._run(request, answer, left))
        self._tasks.add(task)  # the loop alone would let go of it
        task.add_done_callback(self._tasks.discard)
        return left.set

    async def _run(self, request: ClientRequest, answer: Answer, left: asyncio.Event) -> None:
        body: asyncio.Queue[bytes] = asyncio.Queue()
        body.put_nowait(request.body)
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not body.empty():
                return {"type": "http.request", "body": body.get_nowait(), "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        try:
            await self._app(_scope(request), receive, send)
        except Exception:  # Starlette answers, and then raises for whoever is to log it
            log.exception("a request failed")
        answer(_joined(messages) if messages else _FAILED)


def _joined(messages: Sequence[dict[str, Any]]) -> Answered:
    start, *pieces = messages
    body = b"".join(each.get("body", b"") for each in pieces)
    return Answered(status=start["status"], headers=start["headers"], body=body)


def _scope(request: ClientRequest) -> dict[str, Any]:
    path, _, query = request.target.partition(b"?")
    return {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.version, "method": request.method, "scheme": "http",
        "path": unquote(path.decode("ascii", "replace")), "raw_path": path,
        "query_string": query, "root_path": "", "headers": request.headers, "client": None,
        "server": None,
    }  # fmt: skip

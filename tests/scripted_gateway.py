"""A gateway that answers by a script: what the last message says is what it does."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from controlplane.domain.wire import DONE, encode_event, openai_error
from tests.waiting import DEADLINE_SECONDS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
WORDS = ("Hello", ", ", "<b>you</b>", " & all", ".")


@dataclass
class ScriptedGateway:
    """What was asked of it, and what it has left to do."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Each with its path, the key's text and the body as it came."""
    replies: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    """Answered first, one after the other: status, headers, body."""
    chunks: list[dict[str, Any]] | None = None
    """The deltas of a stream, in place of `WORDS`."""
    waits: bool = False
    """Whether a stream stops after its first piece until it may go on, for as long as it takes."""
    went_on: "Word" = field(default_factory=lambda: Word())
    was_left: threading.Event = field(default_factory=threading.Event)
    """Set when the caller closed the connection before the end."""

    def forget(self) -> None:
        """Be as new."""
        self.asked, self.replies, self.chunks, self.waits = [], [], None, False
        self.went_on.clear()
        self.was_left.clear()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append(
            {"path": scope["path"], "key": headers.get("authorization", ""), "body": body}
        )
        if self.replies:
            await self._reply(*self.replies.pop(0), send)
        else:
            await self._stream(receive, send)

    async def _reply(self, status: int, headers: dict[str, str], body: bytes, send: Send) -> None:
        values = {"content-type": "application/json"} | headers
        rows = [(name.encode(), value.encode()) for name, value in values.items()]
        await send({"type": "http.response.start", "status": status, "headers": rows})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, receive: Receive, send: Send) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        for delta in self.chunks or [{"content": word} for word in WORDS]:
            await self._event({"choices": [{"index": 0, "delta": delta}]}, send)
            if self.waits and await self._is_left(receive):
                return
        ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
        await self._event({"choices": [ended]}, send)
        usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        await self._event({"choices": [], "usage": usage}, send)
        await send({"type": "http.response.body", "body": DONE})

    async def _event(self, payload: dict[str, Any], send: Send) -> None:
        piece = encode_event(payload)
        await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _is_left(self, receive: Receive) -> bool:
        left = asyncio.ensure_future(receive())
        goes_on = asyncio.ensure_future(self.went_on.heard())
        await asyncio.wait({left, goes_on}, return_when=asyncio.FIRST_COMPLETED)
        is_left = not goes_on.done()
        (goes_on if is_left else left).cancel()
        if is_left:
            self.was_left.set()
        return is_left


class Word(threading.Event):
    """An event that a test sets and a loop in another thread waits for."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: set[Callable[[], object]] = set()

    def set(self) -> None:
        super().set()
        for listener in tuple(self._listeners):
            listener()

    async def heard(self) -> None:
        """Return once it is set."""
        loop, here = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            loop.call_soon_threadsafe(here.set)

        self._listeners.add(listener)
        try:
            if not self.is_set():
                await here.wait()
        finally:
            self._listeners.discard(listener)


def refusal(message: str, *, status: int, code: str = "", param: str | None = None) -> bytes:
    """Return the body of an error in the shape of OpenAI."""
    return json.dumps(openai_error(message, type="error", code=code, param=param)).encode()


@contextmanager
def scripted_gateway() -> Iterator[ScriptedGateway]:
    """Serve one in a thread of the test."""
    scripted, listener = ScriptedGateway(), socket.socket()
    listener.bind(("127.0.0.1", 0))
    # From here on who connects waits, and is not refused, until the server is up.
    listener.listen(64)
    scripted.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(scripted, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        scripted.went_on.set()
        server.should_exit = True
        thread.join(DEADLINE_SECONDS)
        listener.close()

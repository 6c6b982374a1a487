"""Django for our own processes: a call goes to a waiting thread once, and passes no page's parts.

A gateway asks every second, and a node reports as often. For each request Django makes a thread and
looks after sessions, people, forms and pages, which takes several times as long as the answer.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, NamedTuple

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.core.signals import request_started
from django.urls import set_script_prefix
from django.utils.module_loading import import_string

from apps.rest.body_limit import Receive, Scope, Send

_THREADS = 64
"""More than there are connections: who waits for one is answered in time, too."""


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    content: bytes


class MachineHandler(ASGIHandler):
    """Answers under /internal/v1, whose views are small, short and whole."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="machine")

    def load_middleware(self, is_async: bool = False) -> None:
        """Have each call go through these alone, as sync code."""
        handler: Any = self
        view: Any = convert_exception_to_response(handler._get_response)
        for name in reversed(settings.MACHINE_MIDDLEWARE):
            view = convert_exception_to_response(import_string(name)(view))
        handler._view_middleware = handler._exception_middleware = []
        handler._template_response_middleware = []
        handler._middleware_chain = view

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; one whose body breaks off gets no answer."""
        body = await _whole_body(receive)
        if body is None:
            return
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self._answer, scope, body)
        start = {"type": "http.response.start", "status": answer.status}
        await send({**start, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.content})

    def _answer(self, scope: Scope, body: bytes) -> _Answer:
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, BytesIO(body))
        response: Any = self.get_response(request) if request is not None else refusal
        try:
            headers = [
                (name.lower().encode("ascii"), value.encode("latin1"))
                for name, value in response.items()
            ]
            return _Answer(response.status_code, headers, response.content)
        finally:
            response.close()  # gives the connection to the database back


async def _whole_body(receive: Receive) -> bytes | None:
    """Return the body, which is bounded around this; None where the caller has gone."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)

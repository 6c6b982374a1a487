"""Calls to the control plane: one question, its whole answer, over connections that are kept.

Through the connections that engines are asked by. A client library's call takes more of the
processor than all else that following the routes does.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from controlplane.clock import Clock
from workers.gateway.headers import Header
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream, UpstreamConnection

_PORTS = {"http": 80, "https": 443}


class NoWholeAnswer(Exception):
    """What came is no answer, in words that follow the path."""


class _Unheard(NoWholeAnswer):
    """The connection was closed before the question came, so that it may be asked again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, object] = field(default_factory=dict)
    body: bytes = b""

    def head(self, folder: str, authority: bytes) -> bytes:
        """Return the request down to the line before its body."""
        query = f"?{urlencode(self.params)}" if self.params else ""
        lines = [f"{self.method} {folder}/{self.path}{query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body or self.method != "GET":
            lines.append(f"content-length: {len(self.body)}")
        return b"host: ".join(("\r\n".join([*lines, ""]).encode(), authority + b"\r\n\r\n"))


class Calls:
    def __init__(self, url: str, *, connect_seconds: float, clock: Clock) -> None:
        """`url` is the folder in which every path is asked for. Raises ValueError."""
        parts = urlsplit(url)
        self._folder = parts.path.rstrip("/")
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        self._upstream = Upstream(
            Replica(id="control plane", host=host, port=port, address=url),
            Bounds(connect_seconds=connect_seconds),
            clock=clock,
            tls=ssl.create_default_context() if parts.scheme == "https" else None,
        )
        self._clock = clock

    async def ask(self, question: Question, *, silent_seconds: float, most_bytes: int) -> Answer:
        """Return the answer. Raises NoWholeAnswer, also where nothing moves for so long."""
        while True:
            kept = self._upstream.take_idle(self._clock.monotonic())
            try:
                return await self._answered(question, kept, silent_seconds, most_bytes)
            except _Unheard:
                if kept is None:
                    raise

    async def _answered(
        self,
        question: Question,
        kept: UpstreamConnection | None,
        silent_seconds: float,
        most_bytes: int,
    ) -> Answer:
        call = _Call(most_bytes)
        if kept is None:
            await self._upstream.connect(call)
        connection = call.connection = kept or call.connection
        if connection is not None:
            head = question.head(self._folder, self._upstream.authority)
            connection.send(call, head, question.body, answer_has_body=True)
        try:
            return await call.answer_within(silent_seconds)
        finally:
            call.leave()

    def close(self) -> None:
        self._upstream.close_idle(older_than=float("inf"))


class _Call:
    """Takes one answer off its connection."""

    def __init__(self, most_bytes: int) -> None:
        self.connection: UpstreamConnection | None = None
        self._most_bytes = most_bytes
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._status, self._content = 0, bytearray()
        self._headers: dict[str, str] = {}

    async def answer_within(self, silent_seconds: float) -> Answer:
        moved = self._moved
        while not self._answer.done():
            await asyncio.wait((self._answer,), timeout=silent_seconds)
            moved, before = self._moved, moved
            if not self._answer.done() and moved == before:
                raise NoWholeAnswer("no answer: it is silent")
        return self._answer.result()

    @property
    def _moved(self) -> tuple[int, int, int]:
        unsent = self.connection.unsent_bytes if self.connection else 0
        return self._status, len(self._content), unsent

    def leave(self) -> None:
        """Have what still comes go nowhere."""
        if not self._answer.done() and self.connection is not None:
            self.connection.drop()
        self._answer.cancel()

    def connected(self, connection: UpstreamConnection) -> None:
        self.connection = connection

    def connect_failed(self, reason: str) -> None:
        self._fail(NoWholeAnswer(f"no connection: {reason}"))

    def answer_begins(self, status: int, headers: list[Header]) -> None:
        self._status = status
        self._headers = {name.decode("latin1"): value.decode("latin1") for name, value in headers}

    def answer_continues(self, data: bytes) -> None:
        self._content += data
        if len(self._content) > self._most_bytes:
            self._fail(NoWholeAnswer(f"answered with more than {self._most_bytes} bytes"))
            if self.connection is not None:
                self.connection.drop()

    def answer_ends(self, data: bytes) -> None:
        self.answer_continues(data)
        if not self._answer.done():
            answer = Answer(
                status=self._status, headers=self._headers, content=bytes(self._content)
            )
            self._answer.set_result(answer)

    def answer_failed(self, reason: str, data: bytes) -> None:
        kind = _Unheard if reason == "unheard" else NoWholeAnswer
        self._fail(kind(f"no whole answer: {reason}"))

    def _fail(self, error: NoWholeAnswer) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)

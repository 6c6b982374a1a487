"""Numbered questions to an endpoint, so many a second, each accounted for."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from benchmarks.recovery_parts.stand_in_engine import TOKENS

_PATIENCE_SECONDS = 120.0
"""Of a client: longer than anything that is stopped here stands still."""
_ANSWERED = "answered"


@dataclass
class Question:
    number: int
    outcome: str | None = None
    """None while it is on its way; `answered`, or how it was lost."""


@dataclass
class Traffic:
    """Asks on a thread of its own. Every other question wants its answer as a stream."""

    url: str
    key: str
    each_second: float
    questions: list[Question] = field(default_factory=list)
    _ending: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def flowing(self) -> Iterator["Traffic"]:
        """Ask while the `with` block lasts, and return once every question has its outcome."""
        self._ending.clear()
        thread = threading.Thread(target=lambda: asyncio.run(self._flow()))
        thread.start()
        try:
            yield self
        finally:
            self._ending.set()
            thread.join()

    @property
    def asked(self) -> int:
        return len(self.questions)

    def answered(self) -> int:
        return sum(each.outcome == _ANSWERED for each in self.questions)

    def on_their_way(self) -> set[int]:
        return {each.number for each in self.questions if each.outcome is None}

    def lost(self, begin: int) -> dict[int, str]:
        """Return which of those from `begin` on were not answered, and how they ended."""
        return {
            each.number: each.outcome
            for each in self.questions[begin:]
            if each.outcome not in (None, _ANSWERED)
        }

    async def _flow(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        async with (
            httpx.AsyncClient(limits=limits, timeout=_PATIENCE_SECONDS, trust_env=False) as client,
            asyncio.TaskGroup() as tasks,
        ):
            loop = asyncio.get_running_loop()
            next_at = loop.time()
            while not self._ending.is_set():
                question = Question(self.asked)
                self.questions.append(question)
                tasks.create_task(self._ask(client, question))
                next_at = max(next_at + 1 / self.each_second, loop.time() - 1)
                await asyncio.sleep(max(0.0, next_at - loop.time()))

    async def _ask(self, client: httpx.AsyncClient, question: Question) -> None:
        try:
            question.outcome = await self._outcome(client, question.number)
        except httpx.HTTPError as error:
            question.outcome = type(error).__name__

    async def _outcome(self, client: httpx.AsyncClient, number: int) -> str:
        streams = bool(number % 2)
        answer = await client.post(
            f"{self.url}/chat/completions",
            headers={"authorization": f"Bearer {self.key}"},
            json={
                "model": "tiny",
                "messages": [{"role": "user", "content": str(number)}],
                "stream": streams,
            },
        )
        if answer.status_code != httpx.codes.OK:
            return f"status {answer.status_code}: {answer.text[:200]}"
        is_whole = _is_whole_stream if streams else _is_whole
        return _ANSWERED if is_whole(answer.text, str(number)) else f"cut off: {answer.text[-200:]}"


def _is_whole(text: str, number: str) -> bool:
    return bool(json.loads(text)["choices"][0]["message"]["content"] == number)


def _is_whole_stream(text: str, number: str) -> bool:
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    deltas = [event for event in events if f'"content": "{number}"' in event]
    return len(deltas) == TOKENS and events[-1] == "[DONE]"

"""Numbered questions to an endpoint, so many a second, each accounted for."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.recovery_parts.stand_in_engine import TOKENS

_PATIENCE_SECONDS = 120.0
"""Of a client: longer than anything that is stopped here stands still."""
_ANSWERED = "answered"
_CLIENTS = 16
"""One client looks at each of its connections for every question, and thousands may wait."""
_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass
class Question:
    number: int
    asked_at: float
    """By `time.monotonic`."""
    outcome: str | None = None
    """None while it is on its way; `answered`, or how it was lost."""
    tokens: int = 0
    """Which its answer says that it holds."""
    ended_at: float = 0.0

    @property
    def seconds(self) -> float:
        return self.ended_at - self.asked_at

    @property
    def was_answered(self) -> bool:
        return self.outcome == _ANSWERED


@dataclass
class Traffic:
    """Asks on a thread of its own. Every other question wants its answer as a stream."""

    url: str
    key: str
    each_second: float
    is_echoed: bool
    """Whether an answer repeats the number of its question."""
    place: Callable[[Callable[[], None]], None] = lambda ask: ask()
    """Runs what asks, where clients are."""
    questions: list[Question] = field(default_factory=list)
    _ending: threading.Event = field(default_factory=threading.Event)
    _is_silent: bool = False

    @contextmanager
    def flowing(self) -> Iterator["Traffic"]:
        """Ask while the `with` block lasts, and return once every question has its outcome."""
        self._ending.clear()
        thread = threading.Thread(target=self.place, args=(self._ask_on,))
        thread.start()
        try:
            yield self
        finally:
            self._ending.set()
            thread.join()

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Ask nothing while the `with` block lasts."""
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False

    @property
    def asked(self) -> int:
        return len(self.questions)

    def answered(self) -> tuple[int, int]:
        """Return how many questions were answered, and the tokens of those answers."""
        answered = [each for each in self.questions if each.was_answered]
        return len(answered), sum(each.tokens for each in answered)

    def on_their_way(self) -> set[int]:
        return {each.number for each in self.questions if each.outcome is None}

    def lost(self, begin: int, *, since: float = 0.0) -> dict[int, str]:
        """Return which of those from `begin` on were not answered, and how they ended.

        `since` leaves out those that were asked earlier, by `time.monotonic`.
        """
        return {
            each.number: each.outcome
            for each in self.questions[begin:]
            if each.outcome not in (None, _ANSWERED) and each.asked_at >= since
        }

    def _ask_on(self) -> None:
        asyncio.run(self._flow())

    async def _flow(self) -> None:
        async with AsyncExitStack() as until_end, asyncio.TaskGroup() as tasks:
            clients = [await until_end.enter_async_context(_client()) for _ in range(_CLIENTS)]
            loop = asyncio.get_running_loop()
            next_at = loop.time()
            while not self._ending.is_set():
                if not self._is_silent:
                    question = Question(self.asked, time.monotonic())
                    self.questions.append(question)
                    tasks.create_task(self.ask(clients[question.number % _CLIENTS], question))
                next_at = max(next_at + 1 / self.each_second, loop.time() - 1)
                await asyncio.sleep(max(0.0, next_at - loop.time()))

    async def ask(self, client: httpx.AsyncClient, question: Question) -> None:
        """Ask it, and note how it ended."""
        try:
            answer = await client.post(
                f"{self.url}/chat/completions",
                headers={"authorization": f"Bearer {self.key}"},
                json=_asked(question.number),
            )
            question.tokens, question.outcome = self._judged(answer, str(question.number))
        except httpx.HTTPError as error:
            question.outcome = type(error).__name__
        question.ended_at = time.monotonic()

    def _judged(self, answer: httpx.Response, number: str) -> tuple[int, str]:
        """Return the tokens of an answer, and its outcome."""
        if answer.status_code != httpx.codes.OK:
            return 0, f"status {answer.status_code}: {answer.text[:200]}"
        if number not in answer.text and self.is_echoed:
            return 0, f"the answer to another question: {answer.text[:200]}"
        usage = _usage(answer.text)
        return (0, f"cut off: {answer.text[-200:]}") if usage is None else (usage, _ANSWERED)


def _client() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=8)
    return httpx.AsyncClient(limits=limits, timeout=_PATIENCE_SECONDS, trust_env=False)


def _asked(number: int) -> dict[str, Any]:
    asked = {
        "model": "tiny",
        "messages": [{"role": "user", "content": str(number)}],
        "max_tokens": TOKENS,
        "temperature": 0,
    }
    return asked | (_STREAMED if number % 2 else {})


def _usage(text: str) -> int | None:
    """Return the completion tokens of an answer that is whole."""
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    if text.startswith("data: ") and events.pop() != "[DONE]":
        return None
    usage = json.loads(events[-1]).get("usage") or {}
    tokens: int | None = usage.get("completion_tokens")
    return tokens

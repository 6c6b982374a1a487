"""An event loop in a thread of the test."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

from tests.waiting import DEADLINE_SECONDS

_Value = TypeVar("_Value")


class LoopThread:
    """Runs what the test hands in; `mistakes` is what went wrong there without being told."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []
        self._loop = uvloop.new_event_loop()
        self._loop.set_exception_handler(lambda _, context: self.mistakes.append(repr(context)))
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Return what `work` comes to."""
        return self.start(work).result(DEADLINE_SECONDS)

    def start(self, work: Coroutine[Any, Any, _Value]) -> Future[_Value]:
        """Let `work` begin; return what tells its end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[..., _Value], *arguments: Any) -> _Value:
        """Return what a function answers in one turn of the loop."""

        async def turn() -> _Value:
            return function(*arguments)

        return self.run(turn())

    def close(self) -> None:
        self.run(_cancel_the_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_SECONDS)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


async def _cancel_the_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

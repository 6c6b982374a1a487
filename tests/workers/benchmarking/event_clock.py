"""A clock of one event loop that moves by itself to whatever is due next, and never waits."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from tests.manual_clock import ManualClock

_TURNS = 12
"""Turns of the loop after which whatever can go on without time has."""


class _Turn:
    def __await__(self) -> Generator[None]:
        yield


class EventClock(ManualClock):
    """Time passes only while everything waits for it: the same every time, however busy the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def pause(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._due, (self.monotonic() + seconds, next(self._numbers), future))
        await future

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        yield

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the work returns, with time passing as it waits."""
        return asyncio.run(self._driven(work))

    async def _driven(self, work: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(_TURNS):
                await _Turn()
            if not task.done() and self._due:
                until, _, future = heapq.heappop(self._due)
                # A step too small for a float to tell would be waited for again and again.
                self.advance(max(1e-9, until - self.monotonic()))
                if not future.done():
                    future.set_result(None)
        return task.result()

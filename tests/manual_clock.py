"""A clock that stands still until the test moves it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.waiting import DEADLINE_SECONDS, wait_for


@dataclass(eq=False)
class _Waiter:
    until: float
    wake: threading.Event
    loop: asyncio.AbstractEventLoop | None = None
    future: "asyncio.Future[None] | None" = None

    def rouse(self) -> None:
        self.wake.set()
        if self.loop is not None and self.future is not None:
            self.loop.call_soon_threadsafe(_resolve, self.future)


class ManualClock:
    """Implements `controlplane.clock.Clock`. Threads and tasks that wait do so until `advance`.

    With `sleeping_moves_it`, whoever sleeps or pauses moves the clock instead: for code of one
    thread that tries again. `slept` lists what was slept and paused either way.
    """

    def __init__(
        self,
        at: datetime = datetime(2026, 11, 1, 12, tzinfo=UTC),
        *,
        sleeping_moves_it: bool = False,
    ) -> None:
        self._began_at = at
        self._elapsed_seconds = 0.0
        self._sleeping_moves_it = sleeping_moves_it
        self._lock = threading.Lock()
        self._waiters: set[_Waiter] = set()
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._began_at + timedelta(seconds=self._elapsed_seconds)

    def time(self) -> float:
        return self.now().timestamp()

    def monotonic(self) -> float:
        return self._elapsed_seconds + 1000.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._sleeping_moves_it:
            self.advance(seconds)
            return
        self.wait(threading.Event(), seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        waiter = self._enter(_Waiter(self._elapsed_seconds + seconds, threading.Event()))
        try:
            wait_for(
                lambda: event.is_set() or waiter.wake.is_set(),
                what=f"the test to move its clock by {seconds} s, or what it would wait for",
            )
        finally:
            self._leave(waiter)
        return event.is_set()

    async def pause(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._sleeping_moves_it:
            self.advance(seconds)
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        waiter = _Waiter(self._elapsed_seconds + seconds, threading.Event(), loop, future)
        self._enter(waiter)
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await future
        finally:
            self._leave(waiter)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as bound:
            future = loop.create_future()
            future.add_done_callback(lambda _done: _end(bound))
            waiter = _Waiter(self._elapsed_seconds + seconds, threading.Event(), loop, future)
            self._enter(waiter)
            try:
                yield
            finally:
                self._leave(waiter)

    def advance(self, seconds: float) -> None:
        """Move the clock, and wake who has waited long enough."""
        with self._lock:
            self._elapsed_seconds += seconds
            due = {each for each in self._waiters if each.until <= self._elapsed_seconds}
            # Now, and not when they wake: who waits for waiters must not take these for the next.
            self._waiters -= due
        for waiter in due:
            waiter.rouse()

    def wait_for_waiters(self, count: int = 1) -> None:
        """Return once so many threads and tasks stand waiting: only then does a move reach them."""
        wait_for(
            lambda: len(self._waiters) >= count,
            what=lambda: f"{count} waiters on the test's clock; there are {len(self._waiters)}",
        )

    def _enter(self, waiter: _Waiter) -> _Waiter:
        with self._lock:
            self._waiters.add(waiter)
            if waiter.until <= self._elapsed_seconds:
                waiter.rouse()
        return waiter

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            self._waiters.discard(waiter)


def _end(bound: asyncio.Timeout) -> None:
    # Refused where the body has just ended by itself.
    with suppress(RuntimeError):
        bound.reschedule(asyncio.get_running_loop().time())


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)

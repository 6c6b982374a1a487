"""One level of load: warmed up, measured, and kept up until what was measured has been answered."""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.benchmarks.order import Load, LoadKind
from controlplane.domain.benchmarks.schedule import arrivals
from controlplane.domain.benchmarks.timings import Timed, Window, summary

AskOne = Callable[[Timed], Awaitable[None]]
FAILURE_PAUSE_SECONDS = 0.25
"""After a request that failed, so that a server that refuses at once is not asked as fast."""
GONE_AFTER_FAILURES = 20
GONE_AFTER_SECONDS = 5.0
"""So many in a row, and for so long without an answer: the level is over."""
MOST_IN_FLIGHT = 16_384
UNSENT = "not sent: too many requests were in flight"
_BUSY_SHARE = 0.85
_LOOK_SECONDS = 0.1


def process_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Level:
    """Sends requests by `ask` at one level; `result` tells at any time what came of it."""

    def __init__(
        self,
        ask: AskOne,
        load: Load,
        level: float,
        *,
        seed: int,
        drain_seconds: float,
        cpu_seconds: Callable[[], float] = process_cpu_seconds,
        clock: Clock = SYSTEM,
    ) -> None:
        self._ask, self._load, self.level, self._seed = ask, load, level, seed
        self._drain_seconds, self._cpu_seconds, self._clock = drain_seconds, cpu_seconds, clock
        self._requests: list[Timed] = []
        self._tasks: set[asyncio.Task[bool]] = set()
        self._failures, self._last_good = 0, clock.monotonic()
        self._cpu_before: float | None = None
        self._cpu_after: float | None = None
        self._begin = self._last_good
        self._ended_early_at: float | None = None
        self.last_error = ""

    async def run(self) -> dict[str, Any]:
        self._begin = self._last_good = self._clock.monotonic()
        sending = asyncio.ensure_future(self._send())
        try:
            await self._measure()
        finally:
            self._stop(sending)
            await asyncio.gather(sending, *self._tasks, return_exceptions=True)
        return self.result(is_partial=False)

    @property
    def request_count(self) -> int:
        return len(self._requests)

    @property
    def is_gone(self) -> bool:
        """Whether nothing has been answered for so long that there is no point in going on."""
        silent = self._clock.monotonic() - self._last_good
        return self._failures >= GONE_AFTER_FAILURES and silent >= GONE_AFTER_SECONDS

    def result(self, *, is_partial: bool) -> dict[str, Any]:
        window = self._window()
        until = min(window.until, self._clock.monotonic()) if is_partial else window.until
        until = self._ended_early_at or until
        result = summary(
            self._requests,
            Window(begin=window.begin, until=max(until, window.begin)),
            is_over=not is_partial,
        )
        share = self._cpu_share(until - window.begin)
        return {
            "load": self._load.kind.value,
            "level": self.level,
            "is_partial": is_partial,
            **result,
            "client_cpu_share": share,
            "is_client_limited": share is not None and share >= _BUSY_SHARE,
        }

    def _window(self) -> Window:
        begin = self._begin + self._load.warm_up_seconds
        return Window(begin=begin, until=begin + self._load.seconds)

    async def _measure(self) -> None:
        window = self._window()
        if await self._passed(window.begin):
            self._cpu_before = self._cpu_seconds()
            await self._passed(window.until)
        self._cpu_after = self._cpu_seconds()
        if self.is_gone:
            self._ended_early_at = max(self._clock.monotonic(), window.begin)
            return
        # The load goes on meanwhile: answers come no quicker than under it.
        give_up_at = self._clock.monotonic() + self._drain_seconds
        while self._has_open(window) and self._clock.monotonic() < give_up_at and not self.is_gone:
            await self._clock.pause(_LOOK_SECONDS)

    async def _passed(self, moment: float) -> bool:
        """Return whether the moment has come; False where nothing is answered any more."""
        while (left := moment - self._clock.monotonic()) > 0:
            await self._clock.pause(min(left, _LOOK_SECONDS))
            if self.is_gone:
                return False
        return True

    def _has_open(self, window: Window) -> bool:
        # Also of what began before: its tokens came within the window, and are known at its end.
        return any(each.ended_at is None and each.due_at < window.until for each in self._requests)

    async def _send(self) -> None:
        if self._load.kind is LoadKind.CONCURRENCY:
            await asyncio.gather(*(self._one_after_another() for _ in range(int(self.level))))
        else:
            await self._at_rate(arrivals(self.level, seed=self._seed))

    async def _one_after_another(self) -> None:
        while True:
            if not await self._one(Timed(due_at=self._clock.monotonic())):
                await self._clock.pause(FAILURE_PAUSE_SECONDS)

    async def _at_rate(self, moments: Iterator[float]) -> None:
        for moment in moments:
            due = self._begin + moment
            if (left := due - self._clock.monotonic()) > 0:
                await self._clock.pause(left)
            timed = Timed(due_at=due)
            if len(self._tasks) >= MOST_IN_FLIGHT:
                timed.error, timed.ended_at = UNSENT, self._clock.monotonic()
                self._requests.append(timed)
                continue
            task = asyncio.ensure_future(self._one(timed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _one(self, timed: Timed) -> bool:
        self._requests.append(timed)
        timed.sent_at = self._clock.monotonic()
        await self._ask(timed)
        if timed.is_good:
            self._failures, self._last_good = 0, self._clock.monotonic()
        else:
            self._failures += 1
            self.last_error = timed.error or ""
        return timed.is_good

    def _stop(self, sending: "asyncio.Future[None]") -> None:
        sending.cancel()
        for task in self._tasks:
            task.cancel()

    def _cpu_share(self, seconds: float) -> float | None:
        if seconds <= 0 or self._cpu_before is None:
            return None
        used = (self._cpu_after or self._cpu_seconds()) - self._cpu_before
        return round(used / seconds, 3)

"""The one place that reads time: what waits, expires, retries or measures is given a `Clock`.

Ruff refuses every other reading of it. Leases alone go by another clock, the database's.
"""

import asyncio
import threading
import time
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Time as its user sees it; a test passes one that it moves by hand."""

    def now(self) -> datetime:
        """Return the moment, in UTC."""

    def time(self) -> float:
        """Return the moment, in seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds that never go back, to measure with."""

    def sleep(self, seconds: float) -> None:
        """Return so many seconds later."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return whether the event was set, after so many seconds at most."""

    async def pause(self, seconds: float) -> None:
        """Return so many seconds later, and let others work meanwhile."""

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Return a context that raises TimeoutError in its body after so many seconds."""


class SystemClock:
    """The machine's clock."""

    # As they are: the gateway asks them several times a request.
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    pause = staticmethod(asyncio.sleep)
    timeout = staticmethod(asyncio.timeout)
    time = staticmethod(time.time)  # the last: from here on the name is no longer the module's

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    @staticmethod
    def wait(event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


SYSTEM: Clock = SystemClock()


def now() -> datetime:
    """Return the moment, in UTC, for what is stored in rows or compared with them."""
    return SYSTEM.now()

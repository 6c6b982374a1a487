"""The one place that reads time: what waits, expires, retries or measures is given a `Clock`.

Ruff refuses every other reading of it. Where several hosts write the same rows, `now()` is the
database's time (`controlplane/database_clock.py`); leases ask that clock itself.
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
    # As they are: the gateway asks them several times a request.
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    pause = staticmethod(asyncio.sleep)
    timeout = staticmethod(asyncio.timeout)
    time = staticmethod(time.time)  # the last: from here on the name is no longer the module's

    @staticmethod
    def now() -> datetime:
        moment = _database.moment
        return datetime.now(UTC) if moment is None else datetime.fromtimestamp(moment, UTC)

    @staticmethod
    def wait(event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


class RemoteTime:
    """Another's time as it was told last, going on by a clock of ours that nobody sets."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._ahead_of_monotonic: float | None = None

    def tell(self, moment: float) -> None:
        """Go by this moment, in seconds since the epoch, which is now."""
        self._ahead_of_monotonic = moment - self._clock.monotonic()

    def forget(self) -> None:
        self._ahead_of_monotonic = None

    @property
    def moment(self) -> float | None:
        """What time it is there, in seconds since the epoch; None before it was told."""
        ahead = self._ahead_of_monotonic
        return None if ahead is None else ahead + self._clock.monotonic()

    def time(self) -> float:
        """Return that moment; our own before it was told."""
        ahead = self._ahead_of_monotonic
        return self._clock.time() if ahead is None else ahead + self._clock.monotonic()


SYSTEM: Clock = SystemClock()
_database = RemoteTime(clock=SYSTEM)


def now() -> datetime:
    """Return the moment, in UTC, for what is stored in rows or compared with them."""
    return SYSTEM.now()


def tell_database_time(moment: float | None) -> None:
    """Go by the database's time from here on; by this machine's where it is None."""
    if moment is None:
        _database.forget()
    else:
        _database.tell(moment)

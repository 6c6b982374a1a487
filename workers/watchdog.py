"""Ends a process whose loop has stopped turning, so that its supervisor starts it anew."""

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from controlplane.clock import SYSTEM, Clock

TICK_SECONDS = 1.0
MOST_TICKS = 30
"""Without a turn of the loop."""
_LONGEST_TICK_SECONDS = 3.0
EXIT_STATUS = 70
"""EX_SOFTWARE: a mistake of the program's own."""


class Watchdog:
    """Counts its own ticks, not the clock: a machine that stood still has not held the loop up."""

    def __init__(
        self, *, clock: Clock = SYSTEM, end: Callable[[], None] = lambda: end_with_stacks()
    ) -> None:
        self._clock = clock
        self._end = end
        self._turns = self._seen = self._still_ticks = 0
        self._ticked_at = clock.monotonic()

    def turned(self) -> None:
        self._turns += 1

    def start(self) -> None:
        """Watch from a thread of its own from now on whoever calls `turned`."""
        self._start(lambda: None)

    def start_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self._start(lambda: loop.call_soon_threadsafe(self.turned))

    def tick(self) -> None:
        """Count once; end the process where the loop has stood still for too long."""
        now = self._clock.monotonic()
        has_stood_still_itself = now - self._ticked_at > _LONGEST_TICK_SECONDS
        self._ticked_at = now
        if self._turns != self._seen or has_stood_still_itself:
            self._seen, self._still_ticks = self._turns, 0
            return
        self._still_ticks += 1
        if self._still_ticks >= MOST_TICKS:
            self._end()

    def _start(self, ask: Callable[[], object]) -> None:
        threading.Thread(target=self._watch, args=(ask,), name="watchdog", daemon=True).start()

    def _watch(self, ask: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has been closed: the process is at its end
            while True:
                ask()
                self._clock.sleep(TICK_SECONDS)
                self.tick()


def end_with_stacks() -> None:
    """Write where every thread stands to the standard error, and end the process at once."""
    sys.stderr.write(f"the loop has not turned for {MOST_TICKS} s; all threads stand here:\n")
    sys.stderr.flush()
    faulthandler.dump_traceback(all_threads=True)
    os._exit(EXIT_STATUS)

"""Carries usage records from the hot path to the journal, and ended segments to the shipper."""

import asyncio
import logging
from collections.abc import Callable

from controlplane.clock import SYSTEM, Clock
from workers.gateway.journal import Journal
from workers.gateway.shipping import Shipper

log = logging.getLogger(__name__)
SEGMENT_BYTES = 16 * 1024 * 1024
_SEGMENT_SECONDS = 300.0


class Recorder:
    """Records of one turn of the loop are written together when the turn ends.

    A disk that takes nothing stops no request: records wait in memory and are tried every second.
    """

    def __init__(self, journal: Journal, shipper: Shipper, *, clock: Clock = SYSTEM) -> None:
        self._journal = journal
        self._shipper = shipper
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._rotated_at = self._clock.monotonic()
        self._disk_fails = False

    def record(self, line: bytes) -> None:
        if self._journal.append(line):
            self._loop.call_soon(self._flush)

    async def keep(self, running_lines: Callable[[], list[bytes]]) -> None:
        """Once a second: write what is left, end an old segment, bring all of it to the disk."""
        if not self._flush():
            return
        if self._is_rotation_due():
            self._shipper.add(self._journal.rotate(running_lines()))
            self._rotated_at = self._clock.monotonic()
        await asyncio.to_thread(self._journal.sync)

    def _flush(self) -> bool:
        try:
            self._journal.flush()
        except OSError as error:
            if not self._disk_fails:
                log.error("usage records wait in memory, the disk takes none: %s", error)
            self._disk_fails = True
            return False
        if self._disk_fails:
            log.info("usage records are written again")
        self._disk_fails = False
        return True

    def _is_rotation_due(self) -> bool:
        """A segment ends when it is large or old, so that committed records can be deleted."""
        size, age = self._journal.size_bytes, self._clock.monotonic() - self._rotated_at
        return size > SEGMENT_BYTES or (size > 0 and age > _SEGMENT_SECONDS)

"""Carries usage records from the hot path to the journal, and ended segments to the shipper."""

import asyncio
from collections.abc import Callable

from workers.gateway.journal import Journal
from workers.gateway.shipping import Shipper

SEGMENT_BYTES = 16 * 1024 * 1024
_SEGMENT_SECONDS = 300.0


class Recorder:
    """Records of one turn of the loop are written together when the turn ends."""

    def __init__(self, journal: Journal, shipper: Shipper) -> None:
        self._journal = journal
        self._shipper = shipper
        self._loop = asyncio.get_running_loop()
        self._rotated_at = self._loop.time()

    def record(self, line: bytes) -> None:
        if self._journal.append(line):
            self._loop.call_soon(self._journal.flush)

    async def sync(self) -> None:
        """Bring what is written to the disk; once a second, in a thread."""
        await asyncio.to_thread(self._journal.sync)

    def rotate_if_due(self, running_lines: Callable[[], list[bytes]]) -> None:
        """End the segment when it is large or old, so that committed records can be deleted."""
        size, age = self._journal.size_bytes, self._loop.time() - self._rotated_at
        if size > SEGMENT_BYTES or (size and age > _SEGMENT_SECONDS):
            self._shipper.add(self._journal.rotate(running_lines()))
            self._rotated_at = self._loop.time()

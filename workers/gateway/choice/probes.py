"""Asks ejected replicas how they are, so that no client's request has to find that out."""

import asyncio
from collections.abc import Awaitable, Callable

from controlplane.clock import SYSTEM, Clock
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream

HEALTH_PATH = "/health"
"""Which every engine answers."""
LOOK_SECONDS = 0.25
ANSWER_SECONDS = 2.0
_LONGEST_LINE_BYTES = 1024
_FIRST_SERVER_ERROR = 500

IsWell = Callable[[Replica], Awaitable[bool]]


async def is_well(replica: Replica) -> bool:
    """Return whether the replica answers, with anything but an error of its own."""
    try:
        return await _status_at(replica) < _FIRST_SERVER_ERROR
    except (OSError, ValueError, OverflowError):  # nobody, no HTTP, or no address at all
        return False


class Probes:
    """One for each replica that has rested; those of one gateway process."""

    def __init__(
        self, pool: UpstreamPool, *, asks: IsWell = is_well, clock: Clock = SYSTEM
    ) -> None:
        self._pool, self._asks, self._clock = pool, asks, clock
        self._under_way: set[Upstream] = set()

    async def run(self) -> None:
        """Ask whoever has rested, until cancelled."""
        async with asyncio.TaskGroup() as questions:
            while True:
                for upstream in self.due():
                    self._under_way.add(upstream)
                    questions.create_task(self.ask(upstream))
                await self._clock.pause(LOOK_SECONDS)

    def due(self) -> list[Upstream]:
        return [
            each
            for each in self._pool.all()
            if not each.health.is_well and each.health.wants_probe() and each not in self._under_way
        ]

    async def ask(self, upstream: Upstream) -> None:
        try:
            async with self._clock.timeout(ANSWER_SECONDS):
                lives = await self._asks(upstream.replica)
        except TimeoutError:
            lives = False
        finally:
            self._under_way.discard(upstream)
        if lives:
            upstream.health.answered_probe()
        elif upstream.health.wants_probe():  # unless a request was answered meanwhile
            upstream.health.missed_probe()


async def _status_at(replica: Replica) -> int:
    """Return the status of its health. Raises OSError or ValueError."""
    reader, writer = await asyncio.open_connection(
        replica.host, replica.port, limit=_LONGEST_LINE_BYTES
    )
    try:
        host = f"[{replica.host}]" if ":" in replica.host else replica.host
        head = f"GET {HEALTH_PATH} HTTP/1.1\r\nhost: {host}:{replica.port}\r\nconnection: close"
        writer.write(f"{head}\r\n\r\n".encode())
        version, _, rest = (await reader.readline()).partition(b" ")
    finally:
        writer.close()
    if not version.startswith(b"HTTP/1."):
        raise ValueError("something else answers")
    return int(rest[:3])

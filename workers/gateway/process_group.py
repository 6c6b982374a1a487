"""Several gateway processes on one socket, each with a place of its own.

They inherit one listening socket instead of binding one each: what waits in its queue outlives
whichever process ends, so that a restart refuses no connection.
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Sequence

from controlplane.clock import SYSTEM, Clock
from controlplane.processes.server import ServerCommand
from controlplane.processes.supervisor import Supervised, Supervisor
from workers.gateway.settings import Settings

log = logging.getLogger(__name__)
LISTENS = "the gateway listens on"
"""What a process logs from when it takes connections."""
LONGEST_START_SECONDS = 30.0
_GRACE_SECONDS = 5.0
"""For what a process does after its drain and its last shipment."""


class ProcessGroup:
    """Keeps so many processes alive; needs a running loop."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        arguments: Sequence[str],
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        bounds = settings.bounds
        grace = bounds.drain_seconds + bounds.last_shipment_seconds + _GRACE_SECONDS
        self._clock = clock
        self._members = [
            Supervised(
                name=str(number),
                command=ServerCommand(argv=_command(arguments, number)),
                listener=listener,
                stop_grace_seconds=grace,
            )
            for number in range(1, settings.processes + 1)
        ]
        # One each: they are to end at the same time, not one after the other.
        self._supervisors = [Supervisor(self._say, clock=clock) for _ in self._members]
        self._listens = {member.name: asyncio.Event() for member in self._members}
        self._stopping = asyncio.Event()
        self._replacing: asyncio.Task[None] | None = None

    def obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        loop.add_signal_handler(signal.SIGHUP, self.replace)

    def replace(self) -> None:
        """Start each process anew, one after the other, with the code that is there now."""
        if self._replacing is None or self._replacing.done():
            self._replacing = asyncio.get_running_loop().create_task(self._replace_all())

    async def run(self) -> None:
        """Serve until a signal; then have all of them drain."""
        try:
            for supervisor, member in zip(self._supervisors, self._members, strict=True):
                await supervisor.start(member)
            await self._stopping.wait()
        finally:
            if self._replacing is not None:
                self._replacing.cancel()
            await asyncio.gather(*(supervisor.stop() for supervisor in self._supervisors))

    async def _replace_all(self) -> None:
        for member in self._members:
            if (process := member.process) is None or process.returncode is not None:
                continue  # it is being started anew as it is
            self._listens[member.name].clear()
            process.send_signal(signal.SIGTERM)
            try:
                async with self._clock.timeout(member.stop_grace_seconds + LONGEST_START_SECONDS):
                    await self._listens[member.name].wait()
            except TimeoutError:
                log.error("process %s did not come back: the others stay as they are", member.name)
                return
        log.info("all %d processes were started anew", len(self._members))

    def _say(self, name: str, line: str) -> None:
        if LISTENS in line:
            self._listens[name].set()
        sys.stderr.write(f"[{name}] {line}\n")
        sys.stderr.flush()


def _command(arguments: Sequence[str], number: int) -> tuple[str, ...]:
    return (sys.executable, "-m", "workers.gateway", *arguments, "--process", str(number))

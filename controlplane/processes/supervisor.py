"""Starts processes, prefixes what they print, restarts what dies, stops them in reverse order."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from controlplane.clock import SYSTEM, Clock
from controlplane.processes.parent_death import end_with_parent
from controlplane.processes.server import ServerCommand

FIRST_BACKOFF_SECONDS = 0.2
# Well below the fifteen seconds within which everything is to be whole again.
LONGEST_BACKOFF_SECONDS = 4.0
HALVED_AFTER_SECONDS = 5.0
"""Of each five seconds that a process lived. One that lived for long is one that works."""

Say = Callable[[str, str], None]
"""Takes the name of a process and one line of its output."""


@dataclass
class Supervised:
    """One process that is to run until it is told to stop."""

    name: str
    command: ServerCommand
    listener: socket.socket | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_grace_seconds: float = 10.0
    listens_for_signals: bool = False
    """It begins with SIGTERM and SIGINT held back, and takes them once it can act on them."""
    process: asyncio.subprocess.Process | None = None
    stopping: bool = False
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Supervisor:
    """Keeps its processes alive, each restarted with a wait that doubles while it keeps dying."""

    def __init__(self, say: Say, *, clock: Clock = SYSTEM) -> None:
        _occupy_descriptor_3()
        self._say = say
        self._clock = clock
        self._supervised: list[Supervised] = []

    async def start(self, supervised: Supervised) -> None:
        """Start one process; from now on it is kept alive."""
        self._supervised.append(supervised)
        await self._spawn(supervised)
        supervised.task = asyncio.create_task(self._keep_alive(supervised))

    async def run_once(self, name: str, command: ServerCommand) -> int:
        process = await _spawn(command, None)
        try:
            await self._pump(name, process)
            return await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise

    async def stop(self) -> None:
        """Stop every process, the last started first, and return when none is left."""
        for supervised in reversed(self._supervised):
            supervised.stopping = True
            await self._stop_one(supervised)
            if supervised.task is not None:
                # It reads to its end what the process said, or gives up the next one's start.
                await asyncio.wait({supervised.task})
        self._supervised.clear()

    async def _keep_alive(self, supervised: Supervised) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        while not supervised.stopping:
            started = self._clock.monotonic()
            status = await self._until_exit(supervised)
            if supervised.stopping:
                return
            backoff = _calmed(backoff, lived_seconds=self._clock.monotonic() - started)
            self._say(
                supervised.name, f"ended with {_words(status)}; starts again in {backoff:.1f} s"
            )
            await self._clock.pause(backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)
            if not supervised.stopping:
                await self._spawn(supervised)

    async def _until_exit(self, supervised: Supervised) -> int:
        assert supervised.process is not None
        # A grandchild may keep the pipe open after the process itself has died.
        pump = asyncio.create_task(self._pump(supervised.name, supervised.process))
        status = await supervised.process.wait()
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(0.5):
                await pump
        return status

    async def _spawn(self, supervised: Supervised) -> None:
        supervised.process = await _spawn(
            supervised.command, supervised.listener, supervised.listens_for_signals
        )

    async def _pump(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                # Longer than the reader's limit: asyncio dropped the piece; go on with the rest.
                continue
            if not line:
                return
            self._say(name, line.decode("utf-8", "replace").rstrip())

    async def _stop_one(self, supervised: Supervised) -> None:
        process = supervised.process
        if supervised.task and (process is None or process.returncode is not None):
            supervised.task.cancel()
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(supervised.stop_signal)
        try:
            async with self._clock.timeout(supervised.stop_grace_seconds):
                await process.wait()
        except TimeoutError:
            self._say(supervised.name, "did not stop in time and is killed")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _occupy_descriptor_3() -> None:
    # A socket is handed down as descriptor 3. Were 3 free here, subprocess's own pipe could land
    # on it and be overwritten in the child.
    while (opened := os.open(os.devnull, os.O_RDONLY)) < 3:
        pass
    if opened > 3:
        os.close(opened)


def _calmed(backoff: float, *, lived_seconds: float) -> float:
    halvings = int(lived_seconds / HALVED_AFTER_SECONDS)
    return max(FIRST_BACKOFF_SECONDS, backoff * 0.5**halvings)


async def _spawn(
    command: ServerCommand, listener: socket.socket | None, holds_signals: bool = False
) -> asyncio.subprocess.Process:
    given = {**os.environ, **command.environment}
    environment = {name: value for name, value in given.items() if name not in command.without}
    if listener is not None:
        environment["LISTEN_FDS"] = "1"
    return await asyncio.create_subprocess_exec(
        *command.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        user=command.user,
        start_new_session=True,
        pass_fds=() if listener is None else (3,),
        preexec_fn=partial(
            _before_exec, None if listener is None else listener.fileno(), holds_signals
        ),
    )


def _before_exec(listener: int | None, holds_signals: bool) -> None:
    # A supervisor that is killed takes its processes along instead of leaving them to nobody.
    end_with_parent()
    if holds_signals:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    if listener is not None:
        os.dup2(listener, 3, inheritable=True)


def _words(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"

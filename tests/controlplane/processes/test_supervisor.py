"""The supervisor: restarts what dies, hands sockets down, stops everything, leaves nothing."""

import asyncio
import os
import signal
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import closing

import psutil

from controlplane.clock import SYSTEM, Clock
from controlplane.processes import ports
from controlplane.processes.server import ServerCommand
from controlplane.processes.supervisor import HALVED_AFTER_SECONDS, Supervised, Supervisor
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for

_SLEEPER = "import os, time; print('started', os.getpid(), flush=True); time.sleep(600)"
_SERVER = """
import http.server, socket
server = http.server.HTTPServer(('', 0), http.server.SimpleHTTPRequestHandler, False)
server.socket.close()
server.socket = socket.socket(fileno=3)
server.socket.setblocking(True)
server.handle_request()
server.handle_request()
"""


class Lines(list[tuple[str, str]]):
    def __call__(self, name: str, line: str) -> None:
        self.append((name, line))

    def restarts(self) -> list[str]:
        return [line for _, line in self if "starts again" in line]

    def pids(self) -> list[int]:
        return [int(line.split()[1]) for _, line in self if line.startswith("started ")]


def _python(code: str) -> ServerCommand:
    return ServerCommand(argv=(sys.executable, "-c", code))


async def _until(holds: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_for, holds, what=what)


async def _until_started(lines: Lines, count: int = 1) -> None:
    await _until(lambda: len(lines.pids()) == count, what=f"start number {count}")


async def _until_restarts(lines: Lines, count: int) -> None:
    await _until(lambda: len(lines.restarts()) >= count, what=f"restart number {count}")


def _run(work: Callable[[Supervisor, Lines], Awaitable[None]], *, clock: Clock = SYSTEM) -> Lines:
    lines = Lines()

    async def main() -> None:
        supervisor = Supervisor(lines, clock=clock)
        try:
            await work(supervisor, lines)
        finally:
            await supervisor.stop()

    asyncio.run(main())
    return lines


def test_a_killed_process_starts_again() -> None:
    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(Supervised(name="sleeper", command=_python(_SLEEPER)))
        await _until_started(lines)
        os.kill(lines.pids()[0], signal.SIGKILL)
        await _until_started(lines, 2)

    lines = _run(work, clock=ManualClock(sleeping_moves_it=True))
    assert ("sleeper", "ended with SIGKILL; starts again in 0.2 s") in lines


def test_stopping_leaves_no_process_behind() -> None:
    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(Supervised(name="sleeper", command=_python(_SLEEPER)))
        await _until_started(lines)

    assert not psutil.pid_exists(_run(work).pids()[0])


def test_a_process_that_ignores_the_signal_is_killed_after_its_grace() -> None:
    clock = ManualClock()
    stubborn = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_SLEEPER}"

    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(
            Supervised(name="stubborn", command=_python(stubborn), stop_grace_seconds=8)
        )
        await _until_started(lines)
        stopping = asyncio.ensure_future(supervisor.stop())
        await asyncio.to_thread(clock.wait_for_waiters)
        clock.advance(8)
        await stopping

    lines = _run(work, clock=clock)
    assert ("stubborn", "did not stop in time and is killed") in lines
    assert not psutil.pid_exists(lines.pids()[0])


_LATE_LISTENER = """
import os, signal
print('started', os.getpid(), flush=True)
came = signal.sigwait({signal.SIGTERM})  # which takes it away
os.kill(os.getpid(), came)
signal.signal(signal.SIGTERM, lambda *_: print('heard', flush=True))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
"""


def test_a_signal_that_comes_before_a_process_can_hear_it_waits_for_it() -> None:
    async def work(supervisor: Supervisor, lines: Lines) -> None:
        late = Supervised(
            name="late", command=_python(_LATE_LISTENER), listens_for_signals=True,
            stop_grace_seconds=DEADLINE_SECONDS,
        )  # fmt: skip
        await supervisor.start(late)
        await _until_started(lines)
        await supervisor.stop()

    assert ("late", "heard") in _run(work)


def test_a_process_that_keeps_dying_is_restarted_more_and_more_slowly() -> None:
    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(Supervised(name="broken", command=_python("raise SystemExit(3)")))
        await _until_restarts(lines, 7)

    clock = ManualClock(sleeping_moves_it=True)
    restarts = _run(work, clock=clock).restarts()
    assert restarts[0] == "ended with exit status 3; starts again in 0.2 s"
    assert clock.slept[:7] == [0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 4.0]


def test_the_longer_a_process_was_well_the_sooner_it_is_restarted() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    lived_seconds = (0, 0, 0, HALVED_AFTER_SECONDS, 10 * HALVED_AFTER_SECONDS)

    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(Supervised(name="sleeper", command=_python(_SLEEPER)))
        for life, seconds in enumerate(lived_seconds, start=1):
            await _until_started(lines, life)
            clock.advance(seconds)
            os.kill(lines.pids()[-1], signal.SIGKILL)
        await _until_started(lines, len(lived_seconds) + 1)

    _run(work, clock=clock)
    assert clock.slept == [0.2, 0.4, 0.8, 0.8, 0.2]


def test_a_socket_is_handed_down_again_after_a_restart() -> None:
    with closing(ports.listen("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{ports.port_of(listener)}/"

        async def work(supervisor: Supervisor, lines: Lines) -> None:
            await supervisor.start(
                Supervised(name="server", command=_python(_SERVER), listener=listener)
            )
            # Each life of the server answers two requests and ends.
            for _ in range(3):
                assert await asyncio.to_thread(_status, url) == 200

        _run(work, clock=ManualClock(sleeping_moves_it=True))


def test_output_longer_than_a_line_buffer_does_not_stop_the_pump() -> None:
    code = f"print('x' * 300000, flush=True); {_SLEEPER}"

    async def work(supervisor: Supervisor, lines: Lines) -> None:
        await supervisor.start(Supervised(name="loud", command=_python(code)))
        await _until_started(lines)

    _run(work)


def test_a_supervisor_that_is_killed_takes_its_processes_along() -> None:
    code = f"""
import asyncio, sys
from controlplane.processes.server import ServerCommand
from controlplane.processes.supervisor import Supervised, Supervisor

async def main():
    supervisor = Supervisor(lambda name, line: print(line, flush=True))
    command = ServerCommand(argv=(sys.executable, "-c", {_SLEEPER!r}))
    await supervisor.start(Supervised(name="sleeper", command=command))
    await asyncio.sleep(600)

asyncio.run(main())
"""

    async def main() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        line = await process.stdout.readline()
        process.kill()
        await process.wait()
        sleeper = int(line.split()[1])
        await _until(lambda: not psutil.pid_exists(sleeper), what=f"the end of process {sleeper}")

    asyncio.run(main())


def test_one_off_work_gives_its_exit_status_and_its_output() -> None:
    async def work(supervisor: Supervisor, lines: Lines) -> None:
        status = await supervisor.run_once("once", _python("print('done'); raise SystemExit(4)"))
        assert status == 4

    assert ("once", "done") in _run(work)


def _status(url: str) -> int:
    with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as answer:
        return int(answer.status)

"""`manage.py up` as a child of the demonstration: started, watched, stopped with its engines."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from apps.dashboard.demo.failure import DemoFailed
from controlplane.clock import SYSTEM, Clock
from controlplane.processes.parent_death import end_with_parent
from controlplane.processes.running import RunningServices, running_services

MANAGE = str(Path(__file__).resolve().parents[3] / "manage.py")
_START_SECONDS = 300.0
"""It takes some 30 CPU seconds, of which a busy machine has few; an end is told at once."""
_STOP_SECONDS = 45.0


class Machine:
    """The child process, its log, and the addresses it serves at."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        data_dir: Path,
        log: Path,
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._process = process
        self._data_dir = data_dir
        self._log = log
        self._clock = clock

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> RunningServices:
        """Return the addresses once pages and endpoints answer."""
        deadline = self._clock.monotonic() + _START_SECONDS
        # One client: certificates that each look loads would take a third of a core from the start.
        with httpx.Client(timeout=2, trust_env=False) as client:
            while self._clock.monotonic() < deadline:
                self.check_alive()
                services = running_services(self._data_dir)
                if services.public_url and _answers(services, client):
                    return services
                self._clock.sleep(0.1)
        raise DemoFailed(
            f"Enginehouse did not answer within {_START_SECONDS:.0f} s; see {self._log}."
        )

    def check_alive(self) -> None:
        """Raise DemoFailed with the child's last words when it has ended."""
        if self._process.poll() is not None:
            raise DemoFailed(f"Enginehouse stopped: {self._last_words()} (all of it: {self._log})")

    def wait(self) -> None:
        self._process.wait()

    def stop(self) -> None:
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        errors = [line for line in lines if line.startswith("CommandError: ")]
        return (errors or lines or ["without a word"])[-1].removeprefix("CommandError: ")


@contextmanager
def running_machine(
    data_dir: Path, *, stop_engines: bool = True, clock: Clock = SYSTEM
) -> Iterator[Machine]:
    """Start Enginehouse on `data_dir`, and stop it (and its engines) on the way out."""
    log = data_dir / "logs" / "up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, MANAGE, "up", *(["--stop-engines"] if stop_engines else [])],
            env={**os.environ, "DATA_DIR": str(data_dir)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C reaches the demonstration alone, which then stops this child in order.
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    machine = Machine(process, data_dir, log, clock=clock)
    try:
        yield machine
    finally:
        machine.stop()


def _answers(services: RunningServices, client: httpx.Client) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        for url in (f"{services.public_url}/healthz", f"{services.gateway_url}/health"):
            if client.get(url).status_code != httpx.codes.OK:
                return False
        return True
    return False

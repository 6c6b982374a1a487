"""A service of a compose file as a process, started again when it ends, as Docker would."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from controlplane.processes.parent_death import end_with_parent
from tests.compose_files import ROOT
from tests.waiting import DEADLINE_SECONDS, wait_for

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
"""Docker begins so too; its longest pause is a minute."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is started, and where what it says is kept."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    log: Path


class Container:
    """A process that is kept running until it is stopped."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name=order.name, daemon=True)
        self._thread.start()
        wait_for(lambda: self._process is not None, what=order.name)

    @property
    def pid(self) -> int:
        """Its process now, or the last one."""
        assert self._process is not None
        return self._process.pid

    def tree(self) -> list[psutil.Process]:
        """Return the process and what descends from it."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            return [process, *process.children(recursive=True)]
        return []

    def send(self, number: signal.Signals) -> None:
        """Signal the process alone; it starts again when that ends it."""
        assert self._process is not None
        self._process.send_signal(number)

    def forget(self) -> None:
        """Do not start it again."""
        self._stopping.set()

    def join(self) -> None:
        """Return when it has ended and will not start again."""
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive(), f"{self.order.name} does not end"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process, and return when it has ended."""
        self.forget()
        self.send(signal.SIGCONT)
        self.send(number)
        self.join()

    def _keep(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            self._process = started(self.order)
            self._process.wait()
            self._stopping.wait(pause_seconds)
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)


def started(order: Order, **more: int) -> "subprocess.Popen[bytes]":
    """Start a process with nothing of this one's environment but what finds programs."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TZ") if name in os.environ}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with order.log.open("ab") as output:
        return subprocess.Popen(
            order.argv,
            cwd=ROOT,
            env={"PATH": path, **kept, **order.environment},
            stdin=more.get("stdin", subprocess.DEVNULL),
            stdout=more.get("stdout", output),
            stderr=output,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

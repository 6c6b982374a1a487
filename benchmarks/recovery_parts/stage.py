"""A whole Enginehouse on a folder of its own, in whose builds every step stands at a gate."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import django
import psutil

from tests.gates import Gates
from workers.build_steps.environment import SAMPLES_GATE

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
_PATIENCE_SECONDS = 300.0
"""Until a run is given up, no bar: on a busy machine the start of a process with torch takes two
minutes."""
_Value = TypeVar("_Value")


class Stage:
    """The installation, and the gates at which its steps stand until they are let pass."""

    def __init__(self, folder: Path, gates: Gates, up: psutil.Process) -> None:
        self.folder = folder
        self.up = up
        self._gates = gates
        self._passed: set[tuple[str, int]] = set()
        gates.hold(*STEPS)

    def reach(self, step: str, *, but: int = 0) -> int:
        """Return the process that stands at the step's gate, once those before were let pass.

        `but` is one that is known already.
        """

        def look() -> int | None:
            for earlier in STEPS[: STEPS.index(step)]:
                for pid in self._standing(earlier):
                    self.let_pass(earlier, pid)
            return next((pid for pid in self._standing(step) if pid != but), None)

        return wait_for(look, what=f"a process at {step}")

    def reach_samples(self, pid: int) -> None:
        """Return once the calibration that stood at its gate has half of the samples done."""
        self._gates.hold(SAMPLES_GATE)
        self.let_pass("calibrate", pid)
        wait_for(lambda: pid in self._gates.came(SAMPLES_GATE), what="half of the samples")

    def let_pass(self, step: str, pid: int) -> None:
        """Let that process go on; the next one at that step stands again."""
        self._passed.add((step, pid))
        self._gates.let_go(SAMPLES_GATE)
        self._gates.let_one_go(step, pid)

    @contextmanager
    def open_gates(self) -> Iterator[None]:
        """Nobody stands anywhere meanwhile."""
        self._gates.let_go(*STEPS, SAMPLES_GATE)
        try:
            yield
        finally:
            self._gates.hold(*STEPS)

    @contextmanager
    def another_worker(self) -> Iterator[None]:
        """A second worker for builds, as on a second host."""
        log = self.folder / "another_worker.log"
        with log.open("wb") as output:
            worker = subprocess.Popen(_WORKER, cwd=ROOT, stdout=output, stderr=output)
        try:
            wait_for(lambda: b" ready." in log.read_bytes(), what="another worker")
            yield
        finally:
            worker.send_signal(signal.SIGCONT)
            worker.terminate()
            worker.wait(_PATIENCE_SECONDS)

    def _standing(self, step: str) -> list[int]:
        """Return who stands there, the last one first; who came while it was open does not."""
        here = reversed(self._gates.standing(step))
        return [pid for pid in here if (step, pid) not in self._passed and is_alive(pid)]


_WORKER = (
    *(sys.executable, "-m", "celery", "-A", "controlplane.celery", "worker"),
    *("-P", "threads", "-c", "1", "-Q", "build.default", "-n", "another@%h", "-l", "INFO"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)


@contextmanager
def enginehouse(folder: Path) -> Iterator[Stage]:
    """`manage.py up`, ready; Django of this process points at its database."""
    with Gates() as gates:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="controlplane.settings",
            DATA_DIR=str(folder),
            LOCAL_CHECKPOINT_ROOTS=str(folder / "checkpoints"),
            **gates.environment,
        )
        with _up(folder, os.environ) as up:
            django.setup()
            yield Stage(folder, gates, up)


@contextmanager
def _up(folder: Path, environment: Mapping[str, str]) -> Iterator[psutil.Process]:
    log = folder / "up.log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        _poll(lambda: b"ready: http" in log.read_bytes(), what="the installation")
        yield psutil.Process(up.pid)
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(_PATIENCE_SECONDS)


def process_named(up: psutil.Process, mark: str) -> psutil.Process:
    """The child of `up` with `mark` in its command line."""
    return wait_for(
        lambda: next((each for each in up.children() if mark in " ".join(each.cmdline())), None),
        what=f"the process `{mark}`",
    )


def is_alive(pid: int) -> bool:
    """Whether the process is there and not merely unburied."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_for(look: Callable[[], _Value | None], *, what: str) -> _Value:
    """Return the first true value of `look`, which may meet servers that are away."""
    from django.db import Error, connection

    def looked() -> _Value | None:
        try:
            return look()
        except psutil.NoSuchProcess:
            return None
        except Error:
            connection.close()
            return None

    return _poll(looked, what=what)


def _poll(look: Callable[[], _Value | None], *, what: str) -> _Value:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if value := look():
            return value
        time.sleep(0.02)
    raise SystemExit(f"Not within {_PATIENCE_SECONDS:.0f} s: {what}.")

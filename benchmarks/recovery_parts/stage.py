"""A whole Enginehouse on a folder of its own, with a build in it that takes its time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import django
import psutil

from benchmarks.recovery_parts.slow_gates import slow_gates
from workers.build_steps.environment import SAMPLES_GATE

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
STEP_SECONDS = 1.5
"""Time in the middle of each step, in which to kill."""
SAMPLE_SECONDS = 2.0
"""The same in each of the two batches of samples; progress is stored once a second."""
_START_SECONDS = 60.0
_Value = TypeVar("_Value")


@contextmanager
def enginehouse(folder: Path) -> Iterator[psutil.Process]:
    """`manage.py up`, ready; Django of this process points at its database."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="controlplane.settings",
        DATA_DIR=str(folder),
        LOCAL_CHECKPOINT_ROOTS=str(folder / "checkpoints"),
    )
    with slow_gates({SAMPLES_GATE: SAMPLE_SECONDS}, others_seconds=STEP_SECONDS) as environment:
        os.environ.update(environment)
        yield from _up(folder)


def _up(folder: Path) -> Iterator[psutil.Process]:
    with (folder / "up.log").open("wb") as log:
        up = subprocess.Popen([sys.executable, "manage.py", "up"], cwd=ROOT, stdout=log, stderr=log)
    try:
        wait_for(lambda: b"ready: http" in (folder / "up.log").read_bytes(), _START_SECONDS)
        django.setup()
        yield psutil.Process(up.pid)
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(60)


def process_named(up: psutil.Process, mark: str) -> psutil.Process:
    """The child of `up` with `mark` in its command line."""
    return wait_for(
        lambda: next((each for each in up.children() if mark in " ".join(each.cmdline())), None),
        _START_SECONDS,
    )


def wait_for(look: Callable[[], _Value | None], seconds: float) -> _Value:
    """Return the first true value of `look`, which may meet servers that are away."""
    from django.db import Error, connection

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if value := look():
                return value
        except psutil.NoSuchProcess:
            pass
        except Error:
            connection.close()
        time.sleep(0.05)
    raise TimeoutError(f"not within {seconds:.0f} s")

"""The supervisor measures what a step's processes hold, those that they start included."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.manual_clock import ManualClock
from tests.workers.build_steps.supervising import Supervisor, run, spec_of
from workers.build_steps.child import OutcomeKind
from workers.build_steps.peaks import PeakMeter

MIB = 1024**2
HOLD = "held = b'x' * ({mib} * 1024**2); print('held', flush=True); input()"
WITH_GRANDCHILD = f"""
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", {HOLD.format(mib=60)!r}], stdin=0, stdout=subprocess.PIPE
)
child.stdout.readline()
{HOLD.format(mib=80)}
"""


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


def test_the_memory_of_a_step_is_that_of_all_its_processes_together() -> None:
    clock = ManualClock()
    with running(WITH_GRANDCHILD) as process:
        meter = PeakMeter(process.pid, clock=clock)
        meter.look()
    peaks = meter.peaks()
    assert peaks.host_bytes is not None
    assert 140 * MIB < peaks.host_bytes < 300 * MIB
    # No GPU here: absent, not zero.
    assert peaks.device_bytes is None


@pytest.mark.process
def test_what_a_step_held_comes_back_with_its_end_also_when_it_failed(
    supervisor: Supervisor, tiny: Path
) -> None:
    good = run(supervisor, "fetch", spec_of(str(tiny)))
    bad = run(supervisor, "fetch", spec_of(str(tiny) + "-gone"))
    assert (good.kind, bad.kind) == (OutcomeKind.FINISHED, OutcomeKind.FAILED)
    for outcome in (good, bad):
        assert outcome.peaks.host_bytes is not None
        assert 20 * MIB < outcome.peaks.host_bytes < 400 * MIB

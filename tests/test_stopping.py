"""Who is stopped goes on again, and who was stopped by a test does not."""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.manual_clock import ManualClock
from tests.stopping import Stopper
from tests.waiting import DEADLINE_SECONDS, wait_for

_STANDING = "import signal; signal.pause()"
_KILLED_WHILE_IT_STOPS = """
import os, random, signal, sys, psutil
from tests.stopping import Stopper

class Killing:
    def sleep(self, seconds):
        os.kill(os.getpid(), signal.SIGKILL)

Stopper(random.Random(1), clock=Killing()).stop_some([psutil.Process(int(sys.argv[1]))])
"""


@pytest.fixture
def victim() -> Iterator[psutil.Popen]:
    with psutil.Popen([sys.executable, "-c", _STANDING]) as process:
        yield process
        process.kill()


class Moment(ManualClock):
    """A clock that calls a function where somebody sleeps."""

    def __init__(self, meanwhile: object) -> None:
        super().__init__(sleeping_moves_it=True)
        self._meanwhile = meanwhile

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        assert callable(self._meanwhile)
        self._meanwhile()


def test_a_process_stands_still_meanwhile_and_goes_on_afterwards(victim: psutil.Popen) -> None:
    clock = Moment(lambda: wait_until_stopped(victim))
    with Stopper(random.Random(1), clock=clock) as stopper:
        stopper.stop_some([victim])
        assert stopper.stops == 1
    wait_for(lambda: not is_stopped(victim), what="it goes on")
    assert 0 <= clock.slept[0] <= 0.08


def test_a_process_that_its_test_has_stopped_is_left_so(victim: psutil.Popen) -> None:
    victim.send_signal(signal.SIGSTOP)
    wait_until_stopped(victim)
    with Stopper(random.Random(1), clock=Moment(lambda: None)) as stopper:
        stopper.stop_some([victim])
        assert stopper.stops == 0
    assert is_stopped(victim)


def test_a_stop_of_its_test_during_ours_outlasts_ours(victim: psutil.Popen) -> None:
    def stop_too() -> None:
        wait_until_stopped(victim)
        victim.send_signal(signal.SIGSTOP)

    with Stopper(random.Random(1), clock=Moment(stop_too)) as stopper:
        stopper.stop_some([victim])
        assert stopper.stops == 1
    assert is_stopped(victim)


def test_nobody_stays_stopped_when_who_stopped_them_is_killed(victim: psutil.Popen) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED_WHILE_IT_STOPS, str(victim.pid)],
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    wait_for(lambda: not is_stopped(victim), what="the guard lets it go on")


def is_stopped(process: psutil.Popen) -> bool:
    return bool(process.status() == psutil.STATUS_STOPPED)


def wait_until_stopped(process: psutil.Popen) -> None:
    wait_for(lambda: is_stopped(process), what="it is stopped")

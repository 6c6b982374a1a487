"""A watchdog ends a process whose loop hangs, and none that was only stopped."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.waiting import DEADLINE_SECONDS
from workers.watchdog import EXIT_STATUS

pytestmark = pytest.mark.process
Process = subprocess.Popen[str]


@pytest.fixture
def watched() -> Iterator[Callable[[str], Process]]:
    """Start a process under a watchdog, and wait until it is watched."""
    started: list[Process] = []

    def start(what: str) -> Process:
        argv = [sys.executable, "-m", "tests.workers.watched_process", what]
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "watched\n"
        return process

    yield start
    for each in started:
        each.kill()
        each.communicate()


def test_one_that_was_stopped_for_longer_than_a_hang_may_last_goes_on(
    watched: Callable[[str], Process],
) -> None:
    stopped = watched("turns")
    for _ in range(2):
        stopped.send_signal(signal.SIGSTOP)
        # Another with the same watchdog tells when a loop would have stood still for too long.
        assert watched("hangs").wait(DEADLINE_SECONDS) == EXIT_STATUS
        stopped.send_signal(signal.SIGCONT)
        assert stopped.stdin is not None
        assert stopped.stdout is not None
        stopped.stdin.write("once more\n")
        stopped.stdin.flush()
        assert stopped.stdout.readline() == "turned once more\n"
    assert watched("hangs").wait(DEADLINE_SECONDS) == EXIT_STATUS
    assert stopped.poll() is None, "nor does it end later for what was before"


def test_one_that_hangs_says_where_all_its_threads_stand(
    watched: Callable[[str], Process],
) -> None:
    hanging = watched("hangs")
    _, statement = hanging.communicate(timeout=DEADLINE_SECONDS)
    assert hanging.returncode == EXIT_STATUS
    assert "the loop has not turned for 30 s" in statement
    assert "watched_process.py" in statement

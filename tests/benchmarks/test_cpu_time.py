"""What a process computed is read to the nanosecond, and with it what it has started."""

import os
import subprocess
import sys
import threading
import time

from benchmarks import cpu_time
from tests.waiting import wait_for


def test_what_a_process_and_its_children_compute_is_counted() -> None:
    before = cpu_time.of_process(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            wait_for(lambda: cpu_time.of_descendants(os.getpid()) > 0.01, what="work of the child")
            assert cpu_time.of_process(busy.pid) > 0
        finally:
            busy.kill()
    assert cpu_time.of_process(os.getpid()) > before
    assert cpu_time.of_process(busy.pid) == 0


def test_of_what_was_listed_the_same_is_told_and_what_came_since_apart() -> None:
    listed = cpu_time.Listed(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            wait_for(lambda: cpu_time.of_process(busy.pid) > 0.01, what="work of the child")
            before = listed.seconds()
            assert listed.list_again() > 0.01
            wait_for(lambda: listed.seconds() > before + 0.01, what="what is listed now")
            assert listed.list_again() == 0
        finally:
            busy.kill()


def test_a_thread_that_has_ended_is_counted() -> None:
    """The web process has one for each request, which ends with it."""
    worked: list[float] = []

    def work() -> None:
        while time.thread_time() < 0.01:
            pass
        worked.append(time.thread_time())

    before = cpu_time.of_process(os.getpid())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert cpu_time.of_process(os.getpid()) - before >= worked[0]

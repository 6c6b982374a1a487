"""What a process computed is read to the nanosecond, and with it what it has started."""

import os
import subprocess
import sys

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

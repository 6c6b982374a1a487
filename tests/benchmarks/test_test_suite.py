"""The figures of a run are those that it printed."""

import pytest

from benchmarks.test_suite import figures

SAID = """\
..s                                                                      [100%]
================== CPU seconds by area (budget), wall seconds ==================
workers/agent          76.6 (66)     174.4  over
domain                  9.4 (65)      29.2
all, with servers      90.9          203.6
A fixed loop took 37 ms of CPU here.
======================== The dearest files, CPU seconds ========================
   46.6 tests/workers/agent/test_agent.py
Order: --randomly-seed=856753175
2 passed, 1 skipped in 102.63s (0:01:42)
"""


def test_a_run_is_told_with_its_areas_its_files_and_the_speed_of_its_machine() -> None:
    assert figures(SAID) == {
        "tests": {"passed": 2, "skipped": 1},
        "wall_seconds": 102.63,
        "cpu_seconds": 90.9,
        "machine_loop_seconds": 0.037,
        "seed": 856753175,
        "areas": {
            "workers/agent": {"cpu_seconds": 76.6, "wall_seconds": 174.4},
            "domain": {"cpu_seconds": 9.4, "wall_seconds": 29.2},
        },
        "dearest_files_cpu_seconds": {"tests/workers/agent/test_agent.py": 46.6},
    }


def test_a_run_that_was_ended_has_no_figures() -> None:
    with pytest.raises(ValueError, match="no end of a run"):
        figures(SAID.rpartition("2 passed")[0])

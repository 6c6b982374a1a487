"""What is counted for which area."""

import subprocess
import sys

import pytest

from tests.time_budget import (
    TimeBudget,
    area_of,
    cpu_seconds,
    of_folder,
    of_no_test,
)

_BUSY = (sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass")


@pytest.mark.parametrize(
    ("nodeid", "area"),
    [
        ("tests/domain/rules/test_hardware.py::test_one[a/b]", "domain"),
        ("tests/workers/gateway/test_slips.py::test_one", "workers/gateway"),
        ("tests/workers/runtimes/native/test_http.py::test_one", "workers/runtimes"),
        ("tests/test_gates.py::test_one", "other"),
    ],
)
def test_a_test_is_counted_for_its_folder(nodeid: str, area: str) -> None:
    assert area_of(nodeid) == area


def test_what_a_waited_for_process_spent_is_counted_unless_it_is_nobodys() -> None:
    before = cpu_seconds()
    subprocess.run(_BUSY, check=True)
    assert cpu_seconds() - before >= 0.3
    budget = TimeBudget()
    with of_no_test():
        subprocess.run(_BUSY, check=True)
    told(budget, "tests/domain/test_x.py::test")
    assert budget.cpu_seconds["domain"] < 0.3
    assert list(budget.cpu_seconds_of_files) == ["tests/domain/test_x.py"]


def test_what_all_tests_of_a_folder_share_is_counted_for_the_folder() -> None:
    budget = TimeBudget()
    with of_folder("tests/browser/"):
        subprocess.run(_BUSY, check=True)
    told(budget, "tests/domain/test_x.py::test")
    assert budget.cpu_seconds["browser"] >= 0.3 > budget.cpu_seconds["domain"]
    told(budget, "tests/domain/test_y.py::test")
    assert budget.cpu_seconds["browser"] == budget.cpu_seconds_of_files["tests/browser/"] < 0.6


def told(budget: TimeBudget, nodeid: str) -> None:
    """Let the plugin make a report of the test and add it up."""
    report = pytest.TestReport(nodeid, ("", 0, ""), {}, "passed", None, "call")
    hook = budget.pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    budget.pytest_runtest_logreport(report)

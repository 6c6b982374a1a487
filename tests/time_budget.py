"""What the tests spend, by area: CPU seconds against a budget, wall seconds beside them.

Told and never judged: both are the machine's and its neighbours' as much as ours. How fast the
machine was is told with them.
"""

import collections
import resource
import statistics
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benchmarks.machine_speed import loop_seconds

# What the quiet run of 2026-12-01 spent, rounded up to fives, of a processor without bfloat16
# instructions: benchmarks/results/test_suite-x86_64-2026-12-01.json.
BUDGET_CPU_SECONDS = {
    "domain": 70,
    "seeds": 20,
    "sources": 15,
    "artifacts": 15,
    "calibration_files": 5,
    "controlplane": 40,
    "contracts": 65,
    "contributing": 25,
    "apps": 215,
    "workers": 15,
    "workers/agent": 60,
    "workers/build_steps": 165,
    "workers/engine": 90,
    "workers/gateway": 55,
    "workers/runtimes": 50,
    "workers/tasks": 125,
    "browser": 130,
    "e2e": 225,
}
_OTHER_CPU_SECONDS = 10
_DEAREST_FILES = 40
_of_no_test = 0.0
_of_folders: collections.Counter[str] = collections.Counter()
"""What was spent for all tests of a folder and is yet to be told with a report."""


def cpu_seconds() -> float:
    """Return what this process has spent, and those it started, once they were waited for."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


@contextmanager
def of_no_test() -> Iterator[None]:
    """Let what is spent meanwhile be nobody's: a server's whole life is counted at its end."""
    global _of_no_test
    before = cpu_seconds()
    yield
    _of_no_test += cpu_seconds() - before


@contextmanager
def of_folder(folder: str) -> Iterator[None]:
    """Let what is spent meanwhile be a whole folder's, not that of whichever test is last.

    So the end of a Chromium: only then its whole life is counted.
    """
    before = cpu_seconds()
    with of_no_test():
        yield
    _of_folders[folder] += cpu_seconds() - before


def area_of(nodeid: str) -> str:
    """Return the folder that a test is counted for."""
    parts = nodeid.split("::")[0].split("/")[1:-1]
    return "/".join(parts[: 2 if parts[:1] == ["workers"] else 1]) or "other"


class TimeBudget:
    """A pytest plugin that adds up set-up, call and tear-down of every test by area."""

    def __init__(self) -> None:
        self.cpu_seconds: collections.Counter[str] = collections.Counter()
        self.wall_seconds: collections.Counter[str] = collections.Counter()
        self.cpu_seconds_of_files: collections.Counter[str] = collections.Counter()
        self.processes: list[dict[str, float]] = []
        """What each process of the tests has spent, and how fast its machine was then."""
        self._spent = cpu_seconds()
        self._loop_seconds = 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._loop_seconds = loop_seconds()  # while the others work, as they will
        self._spent = cpu_seconds() - _of_no_test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        spent = cpu_seconds() - _of_no_test
        report.cpu_seconds, self._spent = spent - self._spent, spent  # type: ignore[attr-defined]
        report.cpu_seconds_of_folders = dict(_of_folders)  # type: ignore[attr-defined]
        _of_folders.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._add(report.nodeid.split("::")[0], getattr(report, "cpu_seconds", 0.0))
        for folder, spent in getattr(report, "cpu_seconds_of_folders", {}).items():
            self._add(folder, spent)
        self.wall_seconds[area_of(report.nodeid)] += report.duration

    def _add(self, place: str, spent_seconds: float) -> None:
        self.cpu_seconds[area_of(place)] += spent_seconds
        self.cpu_seconds_of_files[place] += spent_seconds

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        answer = getattr(node, "workeroutput", {}).get("time_budget")
        if answer:
            self.processes.append(answer)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        mine = {"cpu_seconds": cpu_seconds(), "loop_seconds": self._loop_seconds}
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["time_budget"] = mine
            return
        if not self.processes:
            self.processes.append(mine)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        config = terminalreporter.config
        if config.getoption("numprocesses", None):
            self._tell_seconds(terminalreporter)
        seed = config.getoption("randomly_seed", None)
        terminalreporter.write_line(f"Order: --randomly-seed={seed}")
        if terminalreporter.stats.keys() & {"failed", "error"}:
            terminalreporter.write_line(f"Again in this order: the same target, SEED={seed}")

    def _tell_seconds(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("CPU seconds by area (budget), wall seconds")
        for area, seconds in self.cpu_seconds.most_common():
            over = "  over" if seconds > _budget(area) else ""
            write(_row(area, seconds, f"({_budget(area)})", self.wall_seconds[area]) + over)
        total = sum(each["cpu_seconds"] for each in self.processes)
        write(_row("all, with servers", total, "", sum(self.wall_seconds.values())))
        write(f"A fixed loop took {self._median_loop_seconds() * 1000:.0f} ms of CPU here.")
        self._tell_dearest_files(terminalreporter)

    def _tell_dearest_files(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("The dearest files, CPU seconds")
        for file, seconds in self.cpu_seconds_of_files.most_common(_DEAREST_FILES):
            terminalreporter.write_line(f"{seconds:>7.1f} {file}")

    def _median_loop_seconds(self) -> float:
        return statistics.median(each["loop_seconds"] for each in self.processes)


def _row(area: str, spent_seconds: float, budget: str, wall_seconds: float) -> str:
    return f"{area:<20}{spent_seconds:>7.1f} {budget:<6}{wall_seconds:>8.1f}"


def _budget(area: str) -> float:
    return BUDGET_CPU_SECONDS.get(area, _OTHER_CPU_SECONDS)

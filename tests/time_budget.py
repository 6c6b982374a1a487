"""What `make test` spends, by area, against what each area may spend.

Seconds of the tests added up. Three processes share two cores, so that it takes a third of them,
and half of those of tests/e2e, with two processes: twelve minutes in all.
"""

import collections

import pytest

BUDGET_SECONDS = {
    "domain": 50,
    "seeds": 10,
    "sources": 35,
    "artifacts": 10,
    "controlplane": 45,
    "contracts": 50,
    "apps": 180,
    "workers": 740,
    "browser": 250,
    "e2e": 480,
}


class TimeBudget:
    """A pytest plugin that adds up set-up, call and tear-down of every test by area."""

    def __init__(self) -> None:
        self.seconds: collections.Counter[str] = collections.Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = report.nodeid.split("/")
        area = parts[1] if len(parts) > 2 else "other"
        self.seconds[area] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not terminalreporter.config.getoption("numprocesses", None):
            return
        terminalreporter.section("time by area, seconds (budget)")
        for area, seconds in self.seconds.most_common():
            budget = BUDGET_SECONDS.get(area, 10)
            over = "  over" if seconds > budget else ""
            terminalreporter.write_line(f"{area:<12}{seconds:>7.1f} ({budget}){over}")

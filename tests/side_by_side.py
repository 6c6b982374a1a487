"""Which tests share a process of `make test`, and which begin first.

One process more than cores: many tests wait for another process or for a browser. Within what
begins at the same time, and within a file, the order is random.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.one_file_at_a_time import OneFileAtATime

TOGETHER = (
    "tests/e2e/newcomer/",
    "tests/seeds/",
    "tests/workers/runtimes/container/",
    "tests/workers/engine/",
    "tests/workers/runtimes/native/",
)
"""Folders whose files share one installation, one engine of Docker's, one of our own, or what takes
a process ten seconds to import: torch, Transformers, sentence-transformers and peft."""
FIRST = (
    "tests/contracts/test_imports_of_tests",
    "tests/e2e/newcomer/",
    "tests/contributing/",
    "tests/workers/tasks/",
    "tests/e2e/test_main_job",
    "tests/browser/",
    "tests/e2e/test_recovery",
    "tests/workers/engine/",
    "tests/e2e/test_faults",
    "tests/workers/build_steps/",
    "tests/e2e/test_canary",
    "tests/workers/runtimes/native/",
    "tests/e2e/test_several_hosts",
    "tests/workers/agent/",
    "tests/seeds/",
    "tests/workers/runtimes/",
    "tests/workers/gateway/",
    "tests/controlplane/",
    "tests/contracts/",
    "tests/apps/hostile/",
    "tests/apps/test_",
    "tests/apps/deployments/",
)
"""What tells at once, then the longest, so that no process ends long after the others;
installations, whose start has a time limit of the product's, one after the other beside tests that
compute."""


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config, "workerinput", {}).get("one_file_at_a_time"):
        config.pluginmanager.register(OneFileAtATime(place_of, rank))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["one_file_at_a_time"] = node.config.getvalue("dist") == "loadfile"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "SideBySide | None":
    return SideBySide(config, log) if config.getvalue("dist") == "loadfile" else None


class SideBySide(LoadScopeScheduling):
    """Two units at a time to each process: the one that it runs, and the next.

    How many tests they have shows while they run: the share that is told is that of units.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._tests_begun = 0
        self._units_done = 0
        config.pluginmanager.register(self)

    def pytest_runtest_logstart(self) -> None:
        self._tests_begun += 1
        self._tell_share()

    def mark_test_complete(self, *unit: Any, **told: Any) -> None:
        super().mark_test_complete(*unit, **told)
        self._units_done += 1
        self._tell_share()

    def _tell_share(self) -> None:
        units_each_done = len(self.collection or ()) / max(self._units_done, 1)
        session: Any = self.config.pluginmanager.get_plugin("session")
        session.testscollected = round(self._tests_begun * units_each_done)

    def _split_scope(self, nodeid: str) -> str:
        return place_of(nodeid)


def place_of(nodeid: str) -> str:
    """Return what its process is given along with it: its file, or a folder."""
    file = nodeid.split("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def rank(nodeid: str) -> int:
    """Return the place of a test's folder among those that begin first.

    Whoever sorts by it keeps the random order of those at the same place.
    """
    found = (place for place, folder in enumerate(FIRST) if nodeid.startswith(folder))
    return next(found, len(FIRST))

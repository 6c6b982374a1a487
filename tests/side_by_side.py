"""Which tests share a process of `make test`, and which begin first.

One process more than cores: many tests wait for another process or for a browser. Within what
begins at the same time, and within a file, the order is random.
"""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    "tests/e2e/newcomer/",
    "tests/seeds/",
    "tests/workers/runtimes/container/",
    "tests/workers/runtimes/native/",
)
"""Folders whose files share one installation, one engine of Docker's, or one of our own."""
FIRST = (
    "tests/e2e/newcomer/",
    "tests/e2e/test_recovery",
    "tests/e2e/test_main_job",
    "tests/contributing/",
    "tests/workers/tasks/",
    "tests/e2e/test_canary",
    "tests/browser/",
    "tests/e2e/test_faults",
    "tests/workers/build_steps/",
    "tests/workers/runtimes/native/",
    "tests/e2e/test_several_hosts",
    "tests/workers/agent/",
    "tests/seeds/",
    "tests/workers/engine/",
    "tests/workers/runtimes/",
    "tests/workers/gateway/",
    "tests/controlplane/",
)
"""The longest first, so that no process ends long after the others; installations, which wait for
their many processes, one after the other beside tests that compute."""


class SideBySide(LoadScopeScheduling):
    """A file at a time to each process; a folder where its files belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def rank(nodeid: str) -> int:
    """Return the place of a test's folder among those that begin first.

    Whoever sorts by it keeps the random order of those at the same place.
    """
    found = (place for place, folder in enumerate(FIRST) if nodeid.startswith(folder))
    return next(found, len(FIRST))

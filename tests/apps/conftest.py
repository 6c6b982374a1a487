"""What the tests of all apps share, and what they do without. Imports wait for Django."""

import pytest

from tests.apps.breadth import without_parts


@pytest.hookimpl(trylast=True)  # once marks have chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = without_parts(items)


@pytest.fixture(autouse=True)
def _leases_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a lease end by what a test does, and not because the machine is slow."""
    monkeypatch.setattr("apps.leases.services.LEASE_SECONDS", 3600.0)


@pytest.fixture
def keepers_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a task run within the test's transaction, which no keeper's own connection sees."""
    from tests.manual_clock import ManualClock
    from workers.tasks.leasing import LeaseKeeper

    monkeypatch.setitem(LeaseKeeper.__init__.__kwdefaults__, "clock", ManualClock())

"""What the tests of all apps share, and what they do without. Imports wait for Django."""

import pytest
from pytest_django import Settings


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


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Settings) -> None:
    """Hash passwords as the product does, at a fraction of the cost."""
    settings.PASSWORD_HASHERS = ["tests.cheap_argon2.CheapArgon2"]


@pytest.fixture(autouse=True)
def _static_files_when_asked_for(settings: Settings) -> None:
    """Look at static files when one is asked for, and not at all of them for each new client."""
    settings.WHITENOISE_AUTOREFRESH = True

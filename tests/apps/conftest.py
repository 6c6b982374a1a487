"""What the tests of all apps do without: dear passwords, and every static file's state a client."""

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Settings) -> None:
    """Hash passwords as the product does, at a fraction of the cost."""
    settings.PASSWORD_HASHERS = ["tests.cheap_argon2.CheapArgon2"]


@pytest.fixture(autouse=True)
def _static_files_when_asked_for(settings: Settings) -> None:
    """Look at static files when one is asked for, and not at all of them for each new client."""
    settings.WHITENOISE_AUTOREFRESH = True

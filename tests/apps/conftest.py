"""Passwords of tests are hashed as those of the product are, at a fraction of the cost."""

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["tests.cheap_argon2.CheapArgon2"]

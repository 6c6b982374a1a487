"""A key ring of its own for each test."""

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def key_ring(settings: Settings, tmp_path: Path) -> Path:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    return tmp_path / "keys" / "secrets.keyring"

"""An artifact store of its own for each test."""

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def artifact_url(settings: Settings, tmp_path: Path) -> str:
    settings.ARTIFACT_URL = (tmp_path / "artifacts").as_uri()
    return str(settings.ARTIFACT_URL)

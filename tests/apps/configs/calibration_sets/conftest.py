"""An artifact store of its own for each test, and files read by an object in place of a process."""

from pathlib import Path

import pytest
from pytest_django import Settings

from controlplane.calibration_files import Inspection, problems
from controlplane.calibration_files.inspection import inspect_rows
from controlplane.calibration_files.supervision import ENDINGS


@pytest.fixture(autouse=True)
def artifact_url(settings: Settings, tmp_path: Path) -> str:
    settings.ARTIFACT_URL = (tmp_path / "artifacts").as_uri()
    return str(settings.ARTIFACT_URL)


@pytest.fixture
def reader_process() -> None:
    """Have this test's uploads read in a process of their own, as always but in these tests."""


@pytest.fixture(autouse=True)
def _read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "reader_process" not in request.fixturenames:
        services = "apps.configs.calibration_sets.services.sets"
        monkeypatch.setattr(f"{services}.inspect_file", _inspect_here)


def _inspect_here(path: Path, name: str, *, rewritten: Path, limit_bytes: int) -> Inspection:
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise problems.unknown_format(name)
    return inspect_rows(path, ending, rewritten=rewritten, limit_bytes=limit_bytes)

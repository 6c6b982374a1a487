"""A cast, and a tiny checkpoint inside the folders that are open to LOCAL."""

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.factories import Cast, make_cast, make_device
from tests.tiny_checkpoint import make_tiny_checkpoint


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def cpu_host() -> None:
    """A host with a CPU to plan for."""
    make_device()


@pytest.fixture(scope="session")
def tiny_checkpoint(data_dir: Path) -> Path:
    return make_tiny_checkpoint(data_dir / "checkpoints" / "tiny-for-configs")


@pytest.fixture(autouse=True)
def key_ring(settings: Settings, tmp_path: Path) -> None:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have gone to the control queue; no broker runs here."""
    from apps.configs.services import facts

    ids: list[str] = []
    monkeypatch.setattr(facts, "work_send", lambda _kind, row: ids.append(row.id))
    return ids

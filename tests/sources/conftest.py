"""A hub on the loopback, a checkpoint to put there, and options whose clock a pause moves."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.sources import SourceOptions
from tests.hub_server import HubServer
from tests.manual_clock import ManualClock
from tests.tiny_checkpoint import make_tiny_checkpoint

Repository = Callable[..., CheckpointRepository]


@pytest.fixture(autouse=True)
def _online(monkeypatch: pytest.MonkeyPatch) -> None:
    # The engine forbids the hub at its import, for its own process; its tests run in this one.
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@pytest.fixture(scope="session", autouse=True)
def _keys_are_read_once() -> Iterator[None]:
    """Check the numbers of a private key once for all tests: it takes a twentieth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        read_once = functools.cache(serialization.load_pem_private_key)
        patch.setattr(serialization, "load_pem_private_key", read_once)
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that nobody writes to."""
    return make_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint")


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(sleeping_moves_it=True)


@pytest.fixture
def options(hub: HubServer, tmp_path: Path, clock: ManualClock) -> SourceOptions:
    return SourceOptions(
        hf_endpoint=hub.url,
        cache_dir=tmp_path / "cache",
        timeout_seconds=60,
        attempts=3,
        clock=clock,
    )


@pytest.fixture
def repository() -> Repository:
    """Make a hub repository's name as a spec holds it."""

    def make(
        repo: str = "org/tiny", revision: str | None = None, source: str = "HF"
    ) -> CheckpointRepository:
        return CheckpointRepository(source=CheckpointSource(source), repo=repo, revision=revision)

    return make

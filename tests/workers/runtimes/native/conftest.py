"""A real engine process over a tiny checkpoint."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.runtimes.native.server import EngineServer


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("served") / "tiny")


@pytest.fixture(scope="session")
def server(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    """Slow enough that a test can act while an answer is being made."""
    log = tmp_path_factory.mktemp("log") / "engine.log"
    with EngineServer(
        tiny_folder, log=log, step_delay_seconds=0.01, options=("--max-batch-size", "4")
    ) as server:
        yield server

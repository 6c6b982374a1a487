"""One engine over a tiny checkpoint for all tests that only ask it something."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.engine.asking import start_engine
from workers.engine.engine import Engine


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def engine(checkpoint: Path) -> Iterator[Engine]:
    engine = start_engine(checkpoint)
    yield engine
    engine.stop()

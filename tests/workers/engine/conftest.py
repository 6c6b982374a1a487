"""One engine over a tiny checkpoint for all tests that only ask it something."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.engine.asking import start_engine
from workers.engine.engine import Engine

if TYPE_CHECKING:
    from tests.workers.engine.quantized_folders import Make, QuantizedFolder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def engine(checkpoint: Path) -> Iterator[Engine]:
    engine = start_engine(checkpoint)
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> "Make":
    """Makes each quantized folder once, when it is first asked for."""
    # Loads ModelOpt, which most tests of the engine do without.
    from tests.workers.engine.quantized_folders import make_original, make_quantized

    base = tmp_path_factory.mktemp("quantized")
    original = make_original(base / "original")
    values: dict[QuantizationType, QuantizedFolder] = {}

    def make(kind: QuantizationType) -> "QuantizedFolder":
        if kind not in values:
            values[kind] = make_quantized(original, kind, base / kind.value)
        return values[kind]

    return make


@pytest.fixture
def folder_of(made: "Make", tmp_path: Path) -> Callable[..., Path]:
    """Gives a copy of a quantized folder, for the test to change."""

    def copy(kind: QuantizationType = QuantizationType.FP8_KV) -> Path:
        return Path(shutil.copytree(made(kind).path, tmp_path / "changed"))

    return copy

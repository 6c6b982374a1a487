"""Fixtures of the build steps' tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gates import Gates
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.build_steps.supervising import Packaged, Supervisor, package, spec_of
from workers.build_steps.processes import LEASE_VARIABLE, environment, kill_all

if TYPE_CHECKING:
    from tests.workers.build_steps.gated import Quantized


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that nobody writes to."""
    return make_tiny_checkpoint(tmp_path_factory.mktemp("roots") / "tiny")


@pytest.fixture(scope="session")
def packaged(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Packaged:
    """The tiny checkpoint fetched, inspected and packaged, once for all tests."""
    folder = tmp_path_factory.mktemp("packaged")
    return package(Supervisor(folder=folder, roots=(str(tiny.parent),)), spec_of(str(tiny)))


@pytest.fixture
def gates() -> Iterator[Gates]:
    """The gates of the steps that a test gives its environment; open unless held."""
    with Gates() as outcome:
        yield outcome


@pytest.fixture
def supervisor(tmp_path: Path, tiny: Path) -> Iterator[Supervisor]:
    """A supervisor whose processes are gone when the test ends."""
    outcome = Supervisor(folder=tmp_path, roots=(str(tiny.parent),))
    yield outcome
    assert kill_all(lambda each: environment(each.pid).get(LEASE_VARIABLE) == outcome.lease)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> "Quantized":
    """A trained decoder in FP8 with an FP8 cache, which nobody writes to."""
    from tests.workers.build_steps.gated import TRAINED, Quantized  # loads torch

    return Quantized(TRAINED, "fp8_kv", tmp_path_factory.mktemp("kv"))


@pytest.fixture
def kv(made_once: "Quantized", tmp_path: Path) -> "Quantized":
    """A copy of it, to be harmed."""
    return made_once.copied(tmp_path / "kv")

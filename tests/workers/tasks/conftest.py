"""Builds of a tiny checkpoint, carried out for real."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # Read before Django is set up, when only this folder is tested.
    from apps.builds.models import Build
    from apps.configs.models import Revision
    from tests.workers.tasks.building import MakeBuild


@pytest.fixture(scope="session")
def checkpoint(data_dir: Path) -> Path:
    """A tiny checkpoint inside the allowed roots."""
    from tests.tiny_checkpoint import make_tiny_checkpoint

    return make_tiny_checkpoint(data_dir / "checkpoints" / "tiny")


@pytest.fixture
def revision(checkpoint: Path, broker: str, transactional_db: None) -> "Revision":
    """A revision that builds the tiny checkpoint."""
    from tests.workers.tasks.building import make_buildable

    return make_buildable(checkpoint)


@pytest.fixture
def make_build(revision: "Revision", data_dir: Path) -> "Iterator[MakeBuild]":
    """Makes queued builds of the revision; nothing is sent."""
    from tests import factories

    def make(**changes: Any) -> "Build":
        return factories.make_build(**{"revision": revision} | changes)

    yield make
    shutil.rmtree(data_dir / "builds", ignore_errors=True)
    shutil.rmtree(data_dir / "artifacts", ignore_errors=True)

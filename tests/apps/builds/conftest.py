"""A cast, a host with a CPU, and a revision whose facts have arrived. Imports wait for Django."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from apps.configs.models import Revision
    from tests.factories import Cast


@pytest.fixture
def cast(db: None) -> "Cast":
    from tests.factories import make_cast

    return make_cast()


@pytest.fixture(scope="session")
def tiny_checkpoint(data_dir: Path) -> Path:
    from tests.tiny_checkpoint import make_tiny_checkpoint

    return make_tiny_checkpoint(data_dir / "checkpoints" / "tiny-for-builds")


@pytest.fixture
def revision(cast: "Cast", tiny_checkpoint: Path, broker: str) -> "Revision":
    """A revision of the inside team that may be built."""
    from controlplane import clock
    from controlplane.sources import folder_facts
    from tests import factories
    from tests.workers.tasks.building import make_buildable

    factories.make_device()
    factories.make_checkpoint_record(
        team=cast.team,
        repo=str(tiny_checkpoint),
        state="ready",
        facts=folder_facts(tiny_checkpoint, commit="c0ffee").model_dump(mode="json"),
        commit="c0ffee",
        fetched_at=clock.now(),
    )
    return make_buildable(tiny_checkpoint, team=cast.team)

"""A site with archives, and the files that are packed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.sources import SourceOptions
from tests.archive_server import ArchiveServer
from tests.manual_clock import ManualClock


@pytest.fixture
def site() -> Iterator[ArchiveServer]:
    with ArchiveServer() as server:
        yield server


@pytest.fixture
def options(tmp_path: Path, clock: ManualClock) -> SourceOptions:
    return SourceOptions(
        allow_private_addresses=True,
        cache_dir=tmp_path / "cache",
        timeout_seconds=60,
        attempts=3,
        clock=clock,
    )


@pytest.fixture(scope="session")
def files(tiny: Path) -> dict[str, bytes]:
    # As `tar --sort=name` packs them.
    return {path.name: path.read_bytes() for path in sorted(tiny.iterdir())}

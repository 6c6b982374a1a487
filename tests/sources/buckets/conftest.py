"""The three kinds of bucket, each asked by its real client on the loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bucket_server import BucketServer
from tests.sources.buckets.asking import SCHEMES, Asking


@pytest.fixture(scope="session")
def files(tiny: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in tiny.iterdir()}


@pytest.fixture(params=SCHEMES)
def asking(
    request: pytest.FixtureRequest, files: dict[str, bytes], tmp_path: Path
) -> Iterator[Asking]:
    with BucketServer(request.param) as server:
        yield Asking(server, files, tmp_path / "cache")

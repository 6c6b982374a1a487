"""A store in an empty place of each kind, and a folder worth publishing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactStore
from controlplane.clock import SYSTEM
from tests.artifacts.places import (
    BucketPlace,
    FolderPlace,
    OtherMakersPlace,
    Place,
    make_bucket,
    other_makers_endpoint,
)
from tests.bucket_server import BucketServer


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Another maker's server, started when it is first needed."""
    with other_makers_endpoint() as address:
        yield address


@pytest.fixture
def server() -> Iterator[BucketServer]:
    with BucketServer("S3", clock=SYSTEM) as server:
        yield server


@pytest.fixture
def bucket(server: BucketServer) -> BucketPlace:
    return BucketPlace(server)


# Another maker's server takes as long as both others.
@pytest.fixture(
    params=["folder", "bucket", pytest.param("other maker's bucket", marks=pytest.mark.wide)]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        return FolderPlace(tmp_path / "artifacts")
    if request.param == "bucket":
        outcome: BucketPlace = request.getfixturevalue("bucket")
        return outcome
    address = request.getfixturevalue("endpoint")
    make_bucket(address)
    return OtherMakersPlace(address)


@pytest.fixture
def store(place: Place) -> ArtifactStore:
    return place.open()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 400)
    (folder / "1_Pooling" / "config.json").write_text("{}")
    return folder

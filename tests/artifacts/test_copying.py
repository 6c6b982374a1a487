"""A store that is moved: into a bucket, out of it, broken off and gone on with."""

from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure
from controlplane.artifacts.copying import copy_artifacts
from tests.artifacts.places import BucketPlace, FolderPlace, Place, flip_a_byte


def fill(place: Place, tmp_path: Path) -> list[str]:
    folder = tmp_path / "set"
    folder.mkdir()
    digests = []
    for number in range(3):
        (folder / "shared").write_bytes(b"the same in all" * 100)
        (folder / "own").write_bytes(bytes([number]) * 2000)
        digests.append(place.open().publish(folder, {"number": number}).content_digest)
    return sorted(digests)


def copy(source: Place, target: Place, scratch: Path, *, verifies: bool = False) -> list[bool]:
    """Return of each artifact whether it was there."""
    scratch.mkdir(exist_ok=True)
    copied = copy_artifacts(source.open(), target.open(), scratch, verifies=verifies)
    there = [each.was_there for each in copied]
    assert list(scratch.iterdir()) == []
    return there


def test_a_store_moves_into_a_bucket_and_back(bucket: BucketPlace, tmp_path: Path) -> None:
    old, new = FolderPlace(tmp_path / "old"), FolderPlace(tmp_path / "new")
    digests = fill(old, tmp_path)
    assert copy(old, bucket, tmp_path / "scratch") == [False] * 3
    assert copy(bucket, new, tmp_path / "scratch") == [False] * 3
    for digest in digests:
        for place in (bucket, new):
            assert place.open().verify(digest) == old.open().manifest(digest)
            assert place.open().passport(digest) == old.open().passport(digest)


def test_a_copy_that_broke_off_goes_on_and_what_is_there_is_not_sent_again(
    bucket: BucketPlace, tmp_path: Path
) -> None:
    old = FolderPlace(tmp_path / "old")
    digests = fill(old, tmp_path)

    def fill_up(key: str) -> None:
        bucket.server.is_full = len(bucket.kept("manifests")) == 1

    bucket.server.pass_put = fill_up
    with pytest.raises(ArtifactFailure) as caught:
        copy(old, bucket, tmp_path / "scratch")
    assert caught.value.failure.code == "EHA-DISK-FULL"
    bucket.server.pass_put = lambda key: None
    bucket.server.is_full = False
    assert copy(old, bucket, tmp_path / "scratch") == [True, False, False]
    bucket.server.requests.clear()
    assert copy(old, bucket, tmp_path / "scratch") == [True] * 3
    assert {each.method for each in bucket.server.requests} == {"GET"}
    assert bucket.open().digests() == digests


def test_what_is_damaged_at_the_source_stops_the_copy_and_what_is_at_the_target_is_healed(
    bucket: BucketPlace, tmp_path: Path
) -> None:
    old = FolderPlace(tmp_path / "old")
    digests = fill(old, tmp_path)
    copy(old, bucket, tmp_path / "scratch")
    own = bucket.open().manifest(digests[1]).files[0].sha256
    flip_a_byte(bucket, own)
    assert copy(old, bucket, tmp_path / "scratch") == [True] * 3
    assert copy(old, bucket, tmp_path / "scratch", verifies=True) == [True, False, True]
    assert bucket.open().verify(digests[1])
    flip_a_byte(old, own)
    for key in bucket.kept():
        bucket.remove(key)
    with pytest.raises(ArtifactFailure) as caught:
        copy(old, bucket, tmp_path / "scratch")
    assert caught.value.failure.code == "EHA-CORRUPT"
    assert len(bucket.kept("manifests")) == 1

"""Sweeps of a bucket, which has no locks: a publish beside one loses nothing."""

from pathlib import Path

from controlplane.artifacts import ArtifactStore, describe
from controlplane.artifacts.bucket.address import read_address
from controlplane.artifacts.bucket.client import BucketClient
from controlplane.artifacts.bucket.store import BucketStore
from tests.artifacts.places import BUCKET, PREFIX, QUICK, BucketPlace, keys_of_blob
from tests.bucket_server import BucketServer

DAY = 86_400.0


def test_parts_of_an_upload_that_nobody_finished_are_swept_after_the_grace(
    bucket: BucketPlace, folder: Path
) -> None:
    store = bucket.open()
    weights = store.publish(folder, {}).files[-1]
    for key in [*bucket.kept("manifests"), *bucket.kept("passports")]:
        bucket.remove(key)
    assert store.sweep([], DAY).blobs == 0
    bucket.age(2 * DAY)
    assert store.sweep([], DAY).freed_bytes >= weights.size_bytes
    assert not bucket.kept()


def test_a_file_that_a_publish_took_as_it_was_is_young_again(
    bucket: BucketPlace, folder: Path
) -> None:
    store = bucket.open()
    published = store.publish(folder, {})
    bucket.age(2 * DAY)
    store.publish(folder, {})
    for key in bucket.kept("manifests"):  # as if the second publish had not come that far
        bucket.remove(key)
    assert store.sweep([], DAY).blobs == 0
    assert keys_of_blob(bucket, published.files[-1].sha256)


def test_a_file_that_became_young_after_it_was_listed_is_not_deleted(
    bucket: BucketPlace, folder: Path
) -> None:
    blobs = _blobs(bucket)
    sha256 = ArtifactStore(blobs).publish(folder, {}).files[-1].sha256
    bucket.age(2 * DAY)
    assert dict(blobs.ages())[sha256] >= DAY
    bucket.open().publish(folder, {})
    assert blobs.delete(sha256, older_than_seconds=DAY) is None
    assert keys_of_blob(bucket, sha256)


def test_a_publish_that_outlasts_the_grace_puts_again_what_was_swept(
    bucket: BucketPlace, server: BucketServer, folder: Path
) -> None:
    def sweep_first(key: str) -> None:
        if "/passports/" in key:
            server.pass_put = lambda key: None
            bucket.age(2 * DAY)
            bucket.open().sweep([], DAY)

    server.pass_put = sweep_first
    store = bucket.open()
    published = store.publish(folder, {})
    assert store.verify(published.content_digest).files == describe(folder)


def test_what_lies_beside_the_prefix_is_never_touched(
    bucket: BucketPlace, server: BucketServer, folder: Path
) -> None:
    others = [f"{PREFIX}-of-another/blobs/sha256/ab/cd/0", "blobs/sha256/ab/cd/0", "other"]
    for key in others:
        server.put(BUCKET, key, b"theirs")
    store = bucket.open()
    store.publish(folder, {})
    bucket.age(9 * DAY)
    store.sweep([], DAY)
    assert sorted(server.buckets[BUCKET]) == sorted(others)


def test_what_is_not_the_stores_own_is_left_alone_and_stops_nothing(
    bucket: BucketPlace, server: BucketServer, folder: Path
) -> None:
    theirs = [
        "manifests/notes.txt",
        "manifests/old/x.json",
        "blobs/sha256/README",
        "passports/a.json",
    ]
    for key in theirs:
        server.put(BUCKET, f"{PREFIX}/{key}", b"theirs")
    store = bucket.open()
    digest = store.publish(folder, {}).content_digest
    assert store.digests() == [digest]
    bucket.age(9 * DAY)
    assert store.sweep([], DAY).artifacts == 1
    assert bucket.kept() == sorted(theirs)


def test_a_listing_of_many_pages_is_read_to_its_end(
    bucket: BucketPlace, server: BucketServer, folder: Path
) -> None:
    server.page_size = 2
    store = bucket.open()
    store.publish(folder, {})
    bucket.age(2 * DAY)
    store.sweep([], DAY)
    assert not bucket.kept()


def _blobs(bucket: BucketPlace) -> BucketStore:
    return BucketStore(BucketClient(read_address(bucket.url, bucket.variables), QUICK))

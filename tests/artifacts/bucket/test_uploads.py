"""Uploads to a bucket: in parts, broken off, gone on with, and never half visible."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore, describe
from controlplane.artifacts.bucket.address import read_address
from controlplane.artifacts.bucket.client import BucketClient
from controlplane.artifacts.bucket.store import BucketStore
from controlplane.clock import SYSTEM
from tests.artifacts.places import BUCKET, PREFIX, QUICK, BucketPlace, keys_of_blob
from tests.bucket_server import BucketServer, Trouble
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
PART_BYTES = 10_000
WEIGHTS_PARTS = 11

PUBLISH = """
import os, pathlib
from controlplane.artifacts import ArtifactStore
ArtifactStore.open(os.environ["ARTIFACT_URL"]).publish(pathlib.Path(os.environ["FOLDER"]), {})
"""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SYSTEM.now(), sleeping_moves_it=True)


@pytest.fixture
def store(bucket: BucketPlace, clock: ManualClock) -> ArtifactStore:
    client = BucketClient(read_address(bucket.url, bucket.variables), QUICK, clock=clock)
    return ArtifactStore(BucketStore(client, part_bytes=PART_BYTES))


def puts(server: BucketServer) -> list[str]:
    return [each.path for each in server.requests if each.method == "PUT"]


def test_a_large_file_lies_in_parts_and_comes_back_whole(
    store: ArtifactStore, bucket: BucketPlace, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, {})
    weights = published.files[-1]
    assert len(keys_of_blob(bucket, weights.sha256)) == WEIGHTS_PARTS
    assert describe(store.materialize(published.content_digest, tmp_path / "out")) == describe(
        folder
    )
    assert store.verify(published.content_digest).files == published.files
    assert b"".join(store.read(weights)) == (folder / weights.path).read_bytes()


def test_parts_of_another_size_are_read_all_the_same(
    store: ArtifactStore, bucket: BucketPlace, folder: Path
) -> None:
    digest = store.publish(folder, {}).content_digest
    assert bucket.open().verify(digest)
    # And publishing in the size of today leaves it right.
    bucket.open().publish(folder, {})
    assert store.verify(digest)


def test_an_upload_that_broke_off_goes_on_with_the_parts_that_are_missing(
    store: ArtifactStore, server: BucketServer, folder: Path
) -> None:
    taken: Counter[str] = Counter()

    def fail_late(key: str) -> None:
        taken["puts"] += 1
        if taken["puts"] == 8:
            server.is_full = True

    server.pass_put = fail_late
    with pytest.raises(ArtifactFailure):
        store.publish(folder, {})
    there = set(server.buckets[BUCKET])
    assert there
    assert not any("manifests" in key for key in there)
    server.is_full = False
    server.requests.clear()
    published = store.publish(folder, {})
    sent = {path.removeprefix(f"/{BUCKET}/") for path in puts(server)}
    weights = {key for key in there if published.files[-1].sha256 in key}
    assert weights
    assert not weights & sent
    assert store.verify(published.content_digest)


def test_one_damaged_part_alone_is_sent_again(
    store: ArtifactStore, server: BucketServer, bucket: BucketPlace, folder: Path
) -> None:
    weights = store.publish(folder, {}).files[-1]
    damaged = keys_of_blob(bucket, weights.sha256)[3]
    bucket.replace(damaged, bytes(PART_BYTES))
    server.requests.clear()
    store.publish(folder, {})
    sent = [path for path in puts(server) if weights.sha256 in path]
    assert sent == [f"/{BUCKET}/{PREFIX}/{damaged}"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_store_in_trouble_is_asked_again_with_growing_pauses(
    store: ArtifactStore, server: BucketServer, clock: ManualClock, folder: Path, status: int
) -> None:
    body = b"<Error><Code>SlowDown</Code></Error>"
    (folder / "model.safetensors").unlink()
    (folder / "1_Pooling" / "config.json").unlink()
    server.trouble("put", Trouble(times=2, status=status, body=body))
    store.publish(folder, {})
    assert clock.slept == [1.0, 2.0]


def test_the_tries_are_bounded_and_the_failure_says_where(
    store: ArtifactStore, server: BucketServer, folder: Path
) -> None:
    server.trouble("put", Trouble(status=503, body=b"<Error><Code>SlowDown</Code></Error>"))
    with pytest.raises(ArtifactFailure) as caught:
        store.publish(folder, {})
    assert caught.value.failure.code == "EHA-BUSY"
    assert server.endpoint in caught.value.failure.sentence
    of_a_key = Counter(puts(server))
    assert max(of_a_key.values()) == QUICK.attempts


def test_a_part_whose_answer_was_lost_is_put_again(
    store: ArtifactStore, server: BucketServer, folder: Path
) -> None:
    server.trouble("put", Trouble(times=2, break_after=0))
    published = store.publish(folder, {})
    assert store.verify(published.content_digest)


def test_who_was_first_stays_first_though_the_answer_was_lost(
    store: ArtifactStore, server: BucketServer, folder: Path
) -> None:
    digest = store.publish(folder, {}).content_digest
    server.buckets[BUCKET].clear()
    name = digest.removeprefix("sha256:")
    server.trouble(f"{PREFIX}/manifests/{name}.json", Trouble(times=1, break_after=0))
    assert not store.publish(folder, {}).reused
    assert store.publish(folder, {}).reused


def test_a_store_that_knows_no_conditions_keeps_the_first_passport_too(
    store: ArtifactStore, server: BucketServer, folder: Path
) -> None:
    server.knows_conditions = False
    first = store.publish(folder, {"commit": "first"})
    second = store.publish(folder, {"commit": "second"})
    assert (first.reused, second.reused) == (False, True)
    assert store.passport(first.content_digest) == {"commit": "first"}


def test_a_download_that_breaks_off_goes_on_where_it_stopped(
    server: BucketServer, bucket: BucketPlace, folder: Path, tmp_path: Path
) -> None:
    (folder / "model.safetensors").write_bytes(os.urandom(5_000_000))
    store = bucket.open()
    published = store.publish(folder, {})
    (part,) = keys_of_blob(bucket, published.files[-1].sha256)
    server.trouble(f"{PREFIX}/{part}", Trouble(times=1, break_after=3_000_000))
    server.requests.clear()
    store.materialize(published.content_digest, tmp_path / "out")
    first, second = (each.range for each in server.asked_for(part))
    assert first == "bytes=0-4999999"
    assert second is not None
    assert int(second.removeprefix("bytes=").partition("-")[0]) > 1_000_000
    assert describe(tmp_path / "out") == published.files


def test_a_download_that_brings_nothing_is_given_up_and_leaves_nothing(
    store: ArtifactStore, server: BucketServer, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, {})
    server.trouble("get", Trouble(break_after=0))
    with pytest.raises(ArtifactFailure) as caught:
        store.materialize(published.content_digest, tmp_path / "out")
    assert caught.value.failure.code == "EHA-OFFLINE"
    assert not list(tmp_path.glob("*out*"))


def test_a_download_that_was_altered_on_the_way_is_refused(
    store: ArtifactStore, server: BucketServer, bucket: BucketPlace, folder: Path, tmp_path: Path
) -> None:
    published = store.publish(folder, {})
    part = f"{PREFIX}/{keys_of_blob(bucket, published.files[-1].sha256)[2]}"
    server.trouble(part, Trouble(altered=True))
    with pytest.raises(ArtifactFailure) as caught:
        store.materialize(published.content_digest, tmp_path / "out")
    assert caught.value.failure.code == "EHA-CORRUPT"


@pytest.mark.process
def test_a_publisher_killed_in_the_middle_leaves_nothing_visible_and_another_goes_on(
    bucket: BucketPlace, server: BucketServer, folder: Path
) -> None:
    publisher = _publisher(bucket, folder)
    arrived: Callable[[str], None] = lambda key: _kill_at_the_third(publisher, server)  # noqa: E731
    server.pass_put = arrived
    assert publisher.wait(DEADLINE_SECONDS) == -signal.SIGKILL
    server.pass_put = lambda key: None
    assert not bucket.kept("manifests")
    store = bucket.open()
    published = store.publish(folder, {})
    assert store.verify(published.content_digest)
    assert not published.reused


def _publisher(bucket: BucketPlace, folder: Path) -> subprocess.Popen[bytes]:
    values = {"ARTIFACT_URL": bucket.url, "FOLDER": os.fspath(folder), **bucket.variables}
    return subprocess.Popen([sys.executable, "-c", PUBLISH], cwd=ROOT, env={**os.environ, **values})


def _kill_at_the_third(publisher: subprocess.Popen[bytes], server: BucketServer) -> None:
    if len(puts(server)) == 3:
        publisher.kill()
        publisher.wait()

"""Pushes to moto's S3 and to a loopback bucket, and what they refuse."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.places import flip_a_byte, other_makers_endpoint
from tests.bucket_server import BucketServer
from tests.workers.build_steps.pushing.pusher import FILES, Pusher, values_of
from workers.build_steps.child import OutcomeKind, Verdict
from workers.build_steps.pushing.earlier import UNFINISHED_NAME, listed_paths
from workers.build_steps.pushing.parcel import MANIFEST_NAME

pytestmark = pytest.mark.process
KEYS = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "canary-of-the-bucket"}
BUCKET = "engines"


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with other_makers_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def s3(moto: str) -> Any:
    """A client of moto's server, and an empty bucket there."""
    import boto3

    client = boto3.client("s3", endpoint_url=moto, region_name="us-east-1", **KEYS)
    client.create_bucket(Bucket=BUCKET)
    for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=each["Key"])
    return client


@pytest.fixture
def to_bucket(moto: str, tmp_path: Path) -> Pusher:
    return Pusher(tmp_path, {"s3_endpoint": moto})


def kept(s3: Any, folder: str) -> dict[str, bytes]:
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{folder}/").get("Contents", ())
    return {
        each["Key"].removeprefix(f"{folder}/"): s3.get_object(Bucket=BUCKET, Key=each["Key"])[
            "Body"
        ].read()
        for each in listed
    }


def test_a_bucket_gets_every_file_and_the_manifest(to_bucket: Pusher, s3: Any) -> None:
    values = values_of(to_bucket.push(f"s3://{BUCKET}/fp8", secret=json.dumps(KEYS)), to_bucket)
    assert kept(s3, "fp8") == {**FILES, MANIFEST_NAME: to_bucket.manifest.to_bytes()}
    assert (values["sent_files"], values["skipped_files"]) == (4, 0)
    assert to_bucket.progress[-1].done == to_bucket.progress[-1].total


def test_a_bucket_keeps_what_is_equal_and_loses_a_manifest_of_other_files(
    to_bucket: Pusher, s3: Any
) -> None:
    destination, secret = f"s3://{BUCKET}/again", json.dumps(KEYS)
    values_of(to_bucket.push(destination, secret=secret), to_bucket)
    before = s3.head_object(Bucket=BUCKET, Key="again/model.safetensors")["LastModified"]
    # Of the same size, so that only the digest tells.
    s3.put_object(Bucket=BUCKET, Key="again/config.json", Body=bytes(len(FILES["config.json"])))
    values = values_of(to_bucket.push(destination, secret=secret), to_bucket)
    assert (values["sent_files"], values["skipped_files"]) == (1, 3)
    assert kept(s3, "again")["config.json"] == FILES["config.json"]
    assert s3.head_object(Bucket=BUCKET, Key="again/model.safetensors")["LastModified"] == before
    s3.put_object(Bucket=BUCKET, Key=f"again/{MANIFEST_NAME}", Body=b"of other files")
    weights = next(each for each in to_bucket.manifest.files if each.path == "config.json")
    s3.delete_object(Bucket=BUCKET, Key="again/config.json")
    flip_a_byte_of_small(to_bucket, weights.sha256)
    assert to_bucket.refusal(destination, secret=secret).code.startswith("EHA-")
    assert MANIFEST_NAME not in kept(s3, "again")
    assert "config.json" not in kept(s3, "again")


def test_a_push_over_others_leaves_nothing_of_them_even_where_one_broke_off(
    to_bucket: Pusher, s3: Any
) -> None:
    destination, secret = f"s3://{BUCKET}/over", json.dumps(KEYS)
    to_bucket.push_here(destination, secret=secret)
    s3.put_object(Bucket=BUCKET, Key="over/notes.txt", Body=b"mine")
    damaged = to_bucket.digest = to_bucket.publish({"a.safetensors": b"a", "b.safetensors": b"b"})
    second = next(each for each in to_bucket.manifest.files if each.path == "b.safetensors")
    flip_a_byte_of_small(to_bucket, second.sha256)
    assert to_bucket.refusal(destination, secret=secret).code.startswith("EHA-")
    assert {"a.safetensors", "model.safetensors"} < set(kept(s3, "over"))
    to_bucket.digest = to_bucket.publish({"config.json": b"{}"})
    assert damaged != to_bucket.digest
    to_bucket.push_here(destination, secret=secret)
    own = {"config.json": b"{}", MANIFEST_NAME: to_bucket.manifest.to_bytes()}
    assert kept(s3, "over") == {"notes.txt": b"mine", **own}


@pytest.mark.parametrize("path", ["../other", "/other", "a/../../other", "./config.json", 7, None])
def test_a_list_that_somebody_wrote_names_nothing_elsewhere(path: object) -> None:
    content = json.dumps({"files": [{"path": path}, {"path": "own/config.json"}]}).encode()
    assert listed_paths(content) - {"7", "None"} == {"own/config.json"}


@pytest.mark.parametrize("content", [None, b"", b"of other files", b"[]", b'{"files": 7}', b"\xff"])
def test_what_is_no_list_names_nothing(content: bytes | None) -> None:
    assert listed_paths(content) == frozenset()


def test_a_large_file_goes_to_a_bucket_in_parts_and_never_damaged(
    moto: str, s3: Any, tmp_path: Path
) -> None:
    large = Pusher(
        tmp_path, {"s3_endpoint": moto}, {"model.safetensors": bytes(range(256)) * 4 * 20_000}
    )
    destination, secret = f"s3://{BUCKET}/large", json.dumps(KEYS)
    values_of(large.push(destination, secret=secret), large)
    (entry,) = large.manifest.files
    outcome = s3.head_object(Bucket=BUCKET, Key="large/model.safetensors")
    assert outcome["ETag"].endswith('-2"')
    assert (outcome["ContentLength"], outcome["Metadata"]) == (
        entry.size_bytes,
        {"sha256": entry.sha256},
    )
    assert values_of(large.push(destination, secret=secret), large)["skipped_files"] == 1
    s3.delete_object(Bucket=BUCKET, Key="large/model.safetensors")
    flip_a_byte(large.place, entry.sha256)
    assert large.refusal(destination, secret=secret).code.startswith("EHA-")
    assert set(kept(s3, "large")) == {MANIFEST_NAME, UNFINISHED_NAME}


def test_a_push_to_a_bucket_that_is_cut_off_lacks_its_manifest_and_goes_on(tmp_path: Path) -> None:
    came, goes_on = threading.Event(), threading.Event()

    def hold(key: str) -> None:
        if key.endswith("nested/model.safetensors"):
            came.set()
            goes_on.wait()

    with BucketServer("S3") as server:
        server.buckets[BUCKET], server.pass_put = {}, hold
        pusher = Pusher(tmp_path, {"s3_endpoint": server.endpoint})
        destination, secret = f"s3://{BUCKET}/cut", json.dumps(server.login.secret)
        outcome = pusher.push(
            destination,
            secret=secret,
            beat=lambda: Verdict.CANCEL if came.is_set() else Verdict.CONTINUE,
        )
        assert outcome.kind is OutcomeKind.CANCELLED
        assert f"cut/{MANIFEST_NAME}" not in server.buckets[BUCKET]
        goes_on.set()
        values = values_of(pusher.push(destination, secret=secret), pusher)
        assert values["skipped_files"] >= 3
        assert set(server.buckets[BUCKET]) == {f"cut/{each}" for each in (*FILES, MANIFEST_NAME)}


def flip_a_byte_of_small(pusher: Pusher, sha256: str) -> None:
    key = next(each for each in pusher.place.kept("blobs") if sha256 in each)
    content = bytearray(pusher.place.content(key))
    content[-1] ^= 1
    pusher.place.replace(key, bytes(content))


def test_a_bucket_that_is_not_there_is_named(to_bucket: Pusher, s3: Any) -> None:
    failure = to_bucket.refusal("s3://absent-bucket/fp8", secret=json.dumps(KEYS))
    assert failure.code == "EHU-NOT-FOUND"


@pytest.mark.parametrize(
    ("state", "code"),
    [("is_read_only", "EHU-DENIED"), ("is_full", "EHU-FULL"), (None, "EHU-LOGIN")],
)
def test_what_a_store_refuses_is_said_in_words(
    tmp_path: Path, state: str | None, code: str
) -> None:
    with BucketServer("S3") as server:
        server.buckets[BUCKET] = {}
        pusher = Pusher(tmp_path, {"s3_endpoint": server.endpoint})
        secret = dict(server.login.secret)
        if state:
            setattr(server, state, True)
        else:
            secret["aws_access_key_id"] = "AKIASTRANGER"
        failure = pusher.refusal(f"s3://{BUCKET}/fp8", secret=json.dumps(secret))
    assert failure.code == code, failure
    assert secret["aws_secret_access_key"] not in str(failure)


def test_a_secret_that_is_no_login_is_said(to_bucket: Pusher) -> None:
    assert to_bucket.refusal(f"s3://{BUCKET}/fp8", secret="plain").code == "ES3-SECRET"

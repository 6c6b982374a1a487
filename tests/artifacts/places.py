"""The places that artifacts may lie in, as the tests of their contract look into them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from controlplane.artifacts import ArtifactStore
from controlplane.artifacts.patience import Patience
from controlplane.clock import SYSTEM, Clock
from tests.bucket_server import BucketServer
from tests.manual_clock import ManualClock

PREFIX = "team/artifacts"
BUCKET = "engines"
QUICK = Patience(attempts=3, backoff_seconds=1.0, silence_seconds=60.0, upload_seconds=60.0)


class Place(Protocol):
    """A folder or a bucket with nothing in it."""

    def open(self, *, clock: Clock = SYSTEM) -> ArtifactStore:
        """Return the store in it."""

    def kept(self, folder: str = "") -> list[str]:
        """Return the paths of what is kept under a folder."""

    def content(self, key: str) -> bytes:
        """Return what is kept there."""

    def replace(self, key: str, content: bytes) -> None:
        """Put something else there, as old as it was."""

    def remove(self, key: str) -> None:
        """Take it away."""

    def age(self, seconds: float) -> None:
        """Make all that is kept so much older."""


def keys_of_blob(place: Place, sha256: str) -> list[str]:
    """Return where the bytes of a file lie."""
    return [key for key in place.kept("blobs") if sha256 in key]


def flip_a_byte(place: Place, sha256: str) -> None:
    """Damage a stored file."""
    key = keys_of_blob(place, sha256)[-1]
    content = bytearray(place.content(key))
    content[100] ^= 1
    place.replace(key, bytes(content))


class FolderPlace:
    """A folder of this host."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = root.as_uri()

    def open(self, *, clock: Clock = SYSTEM) -> ArtifactStore:
        return ArtifactStore.open(self.url, clock=clock)

    def kept(self, folder: str = "") -> list[str]:
        outcome = (path for path in (self.root / folder).rglob("*") if path.is_file())
        paths = (path.relative_to(self.root).as_posix() for path in outcome)
        return sorted(path for path in paths if not path.endswith(".lock"))

    def content(self, key: str) -> bytes:
        return (self.root / key).read_bytes()

    def replace(self, key: str, content: bytes) -> None:
        path = self.root / key
        then = path.stat().st_mtime
        path.chmod(0o644)
        path.write_bytes(content)
        os.utime(path, (then, then))

    def remove(self, key: str) -> None:
        (self.root / key).unlink()

    def age(self, seconds: float) -> None:
        for key in self.kept():
            then = (self.root / key).stat().st_mtime - seconds
            os.utime(self.root / key, (then, then))


class BucketPlace:
    """A folder of a bucket of our own loopback server."""

    def __init__(self, server: BucketServer) -> None:
        self.server = server
        self.server.buckets[BUCKET] = {}
        self.url = f"s3://{BUCKET}/{PREFIX}"
        self.variables = variables_of(server)
        self.secret = self.variables["AWS_SECRET_ACCESS_KEY"]

    def open(self, *, clock: Clock | None = None) -> ArtifactStore:
        return ArtifactStore.open(
            self.url,
            variables=self.variables,
            patience=QUICK,
            clock=clock or ManualClock(SYSTEM.now(), sleeping_moves_it=True),
        )

    def kept(self, folder: str = "") -> list[str]:
        outcome = (key.removeprefix(f"{PREFIX}/") for key in self.server.buckets[BUCKET])
        return sorted(key for key in outcome if key.startswith(folder))

    def content(self, key: str) -> bytes:
        return self.server.buckets[BUCKET][f"{PREFIX}/{key}"].content

    def replace(self, key: str, content: bytes) -> None:
        bucket = self.server.buckets[BUCKET]
        bucket[f"{PREFIX}/{key}"] = replace(bucket[f"{PREFIX}/{key}"], content=content)

    def remove(self, key: str) -> None:
        del self.server.buckets[BUCKET][f"{PREFIX}/{key}"]

    def age(self, seconds: float) -> None:
        bucket = self.server.buckets[BUCKET]
        for key, each in list(bucket.items()):
            bucket[key] = replace(each, modified=each.modified - timedelta(seconds=seconds))


class OtherMakersPlace:
    """A folder of a bucket of a server that neither we nor the client's authors wrote."""

    def __init__(self, endpoint: str) -> None:
        self.url = f"s3://{BUCKET}/{PREFIX}"
        self.variables = {
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "example",
            "AWS_ENDPOINT_URL": endpoint,
        }

    def open(self, *, clock: Clock = SYSTEM) -> ArtifactStore:
        return ArtifactStore.open(self.url, variables=self.variables, patience=QUICK, clock=clock)

    def kept(self, folder: str = "") -> list[str]:
        outcome = (key.removeprefix(f"{PREFIX}/") for key in self._kept())
        return sorted(key for key in outcome if key.startswith(folder))

    def content(self, key: str) -> bytes:
        content: bytes = self._kept()[f"{PREFIX}/{key}"].value
        return content

    def replace(self, key: str, content: bytes) -> None:
        self._kept()[f"{PREFIX}/{key}"].value = content

    def remove(self, key: str) -> None:
        self._kept().pop(f"{PREFIX}/{key}")

    def age(self, seconds: float) -> None:
        for each in self._kept().values():
            each.last_modified -= timedelta(seconds=seconds)

    def _kept(self) -> Any:
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        return s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[BUCKET].keys


def variables_of(server: BucketServer) -> dict[str, str]:
    """Return what a host is told to use that server."""
    login = server.login.secret
    return {
        "AWS_ACCESS_KEY_ID": login["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": login["aws_secret_access_key"],
        "AWS_ENDPOINT_URL": server.endpoint,
    }


@contextmanager
def other_makers_endpoint() -> Iterator[str]:
    """Give the address of moto's server, which runs in threads of this process."""
    import logging

    from moto.server import ThreadedMotoServer  # here, since it takes a second

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def make_bucket(endpoint: str) -> None:
    """Make the bucket anew at moto's server."""
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="example",
    )
    known = [each["Name"] for each in client.list_buckets()["Buckets"]]
    if BUCKET in known:
        for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
            client.delete_object(Bucket=BUCKET, Key=each["Key"])
    else:
        client.create_bucket(Bucket=BUCKET)

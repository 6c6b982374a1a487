"""The artifact store in a bucket that speaks S3.

A file lies there in parts, each an object of its own named by where it begins:
`blobs/sha256/ab/<hash>/000000000000000`. A part is there whole or not at all, so an upload that was
broken off goes on with those that are missing, on any host, and what nobody finishes is swept like
any file that nothing names; no half of a multipart upload stays behind where no listing shows it.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from controlplane.artifacts.bucket.address import read_address
from controlplane.artifacts.bucket.ahead import ahead
from controlplane.artifacts.bucket.client import BucketClient, Listed
from controlplane.artifacts.bucket.parts import PART_BYTES, Part, chain, parts_of, sha256_of_key
from controlplane.artifacts.bucket.uploading import Upload
from controlplane.artifacts.digests import CHUNK_BYTES, FileEntry, ignore_bytes
from controlplane.artifacts.failures import ArtifactFailure, corrupt_blob
from controlplane.artifacts.patience import Patience
from controlplane.artifacts.variables import store_variables
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures.registry import artifacts

_BLOBS = "blobs/sha256"
_IN_FLIGHT = 4
"""Parts that are on their way, and in memory where they are not written to a file."""


def open_bucket(
    url: str,
    *,
    variables: Mapping[str, str] | None,
    patience: Patience,
    clock: Clock = SYSTEM,
) -> "BucketStore":
    """Return the bucket behind a URL; nothing is asked yet. Raises ArtifactFailure."""
    address = read_address(url, store_variables() if variables is None else variables)
    return BucketStore(BucketClient(address, patience, clock=clock))


class BucketStore:
    """Parts of files and documents, all of them objects of one folder of a bucket."""

    def __init__(self, client: BucketClient, *, part_bytes: int = PART_BYTES) -> None:
        self._client = client
        self._part_bytes = part_bytes

    def put(
        self,
        source: Path,
        entry: FileEntry,
        *,
        link: bool,
        on_bytes: Callable[[int], None] = ignore_bytes,
    ) -> None:
        stored = {each.key: each.size_bytes for each in self._listed(entry.sha256)}
        with Upload.of(self._client, source, entry, is_settled=link) as upload:
            with ThreadPoolExecutor(_IN_FLIGHT) as pool:
                parts = parts_of(_folder(entry.sha256), entry.size_bytes, self._part_bytes)
                was_sent = False
                for part, sent in zip(
                    parts, pool.map(lambda each: upload.put(each, stored), parts), strict=True
                ):
                    was_sent |= sent
                    on_bytes(part.size_bytes)
            if not was_sent:
                # A sweep tells by its youngest part when a file was last needed.
                upload.send(parts[0])

    def missing(self, entries: Sequence[FileEntry]) -> Sequence[FileEntry]:
        return [each for each in entries if self._chain(each) is None]

    def check(self, entry: FileEntry, on_bytes: Callable[[int], None]) -> None:
        digest = hashlib.sha256()
        parts = self._parts(entry)
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for content in ahead(pool, self._whole, parts, _IN_FLIGHT):
                digest.update(content)
                on_bytes(len(content))
        _refuse_other(entry, digest.hexdigest())

    def take(self, entry: FileEntry, destination: Path, on_bytes: Callable[[int], None]) -> None:
        digest = hashlib.sha256()
        parts = self._parts(entry)
        with destination.open("x+b") as file, ThreadPoolExecutor(_IN_FLIGHT) as pool:
            file.truncate(entry.size_bytes)
            for part in ahead(pool, lambda each: self._into(destination, each), parts, _IN_FLIGHT):
                # Read back while others come: what is on the disk is what has to be right.
                for chunk in _read(file.fileno(), part):
                    digest.update(chunk)
                    on_bytes(len(chunk))
        if digest.hexdigest() != entry.sha256:
            destination.unlink()
        _refuse_other(entry, digest.hexdigest())

    def read(self, entry: FileEntry) -> Iterator[bytes]:
        digest, buffer = hashlib.sha256(), b""
        for part in self._parts(entry):
            for piece in self._client.stream(part.key, part.size_bytes):
                digest.update(piece)
                # One piece behind: a damaged file must never arrive whole.
                if buffer:
                    yield buffer
                buffer = piece
        _refuse_other(entry, digest.hexdigest())
        yield buffer

    def ages(self) -> Iterator[tuple[str, float]]:
        youngest: dict[str, float] = {}
        for each in self._client.list(_BLOBS):
            sha256 = sha256_of_key(each.key)
            if sha256 is not None:
                youngest[sha256] = min(each.age_seconds, youngest.get(sha256, each.age_seconds))
        yield from youngest.items()

    def delete(self, sha256: str, *, older_than_seconds: float) -> int | None:
        # Looked at again: a publish beside this sweep may have put it anew since the listing.
        objects = self._listed(sha256)
        if any(each.age_seconds < older_than_seconds for each in objects):
            return None
        for each in objects:
            self._client.delete(each.key)
        return sum(each.size_bytes for each in objects)

    def delete_leftovers(self, older_than_seconds: float) -> None:
        """Do nothing: parts that nothing names are files that nothing names."""

    def read_document(self, path: str) -> bytes | None:
        return self._client.read(path)

    def create_document(self, path: str, content: bytes) -> bool:
        return self._client.create(path, content)

    def write_document(self, path: str, content: bytes) -> None:
        self._client.put(path, content)

    def touch_document(self, path: str) -> None:
        content = self._client.read(path)
        if content is not None:
            self._client.put(path, content)

    def delete_document(self, path: str) -> None:
        self._client.delete(path)

    def documents(self, folder: str) -> Iterator[tuple[str, float]]:
        for each in self._client.list(folder):
            yield each.key.rpartition("/")[2], each.age_seconds

    @contextmanager
    def in_use(self) -> Iterator[None]:
        yield

    @contextmanager
    def alone(self) -> Iterator[bool]:
        yield True

    def _parts(self, entry: FileEntry) -> Sequence[Part]:
        parts = self._chain(entry)
        if parts is None:
            raise ArtifactFailure.of(artifacts.MISSING_BLOB, path=entry.path, sha256=entry.sha256)
        return parts

    def _chain(self, entry: FileEntry) -> Sequence[Part] | None:
        sizes = {each.key: each.size_bytes for each in self._listed(entry.sha256)}
        return chain(_folder(entry.sha256), sizes, entry.size_bytes)

    def _listed(self, sha256: str) -> Sequence[Listed]:
        return self._client.list(_folder(sha256))

    def _whole(self, part: Part) -> bytes:
        return b"".join(self._client.stream(part.key, part.size_bytes))

    def _into(self, destination: Path, part: Part) -> Part:
        # Opened for each: threads that share one have one position in it.
        with destination.open("r+b") as file:
            file.seek(part.start)
            for piece in self._client.stream(part.key, part.size_bytes):
                file.write(piece)
        return part


def _folder(sha256: str) -> str:
    return f"{_BLOBS}/{sha256[:2]}/{sha256}"


def _read(descriptor: int, part: Part) -> Iterator[bytes]:
    """Yield a part of a file, past any buffer: what lies behind it is still being written."""
    for start in range(part.start, part.start + part.size_bytes, CHUNK_BYTES):
        end = min(start + CHUNK_BYTES, part.start + part.size_bytes)
        yield os.pread(descriptor, end - start, start)


def _refuse_other(entry: FileEntry, actual: str) -> None:
    if actual != entry.sha256:
        raise corrupt_blob(entry.path, entry.sha256, actual)

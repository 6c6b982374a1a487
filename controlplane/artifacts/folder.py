"""The artifact store in a folder, which every host that uses it mounts."""

import contextlib
import hashlib
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from controlplane.artifacts.digests import FileEntry, hash_file, ignore_bytes, read_chunks
from controlplane.artifacts.durable import (
    create_atomically,
    disk_full_named,
    make_folder,
    sync_directory,
    sync_file,
    write_atomically,
)
from controlplane.artifacts.failures import ArtifactFailure, corrupt_blob
from controlplane.artifacts.locking import exclusive, shared
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures.registry import artifacts

_READ_ONLY = 0o444


class FolderStore:
    """`blobs/sha256/ab/<hash>` under one folder; unfinished writes lie in `tmp/`."""

    def __init__(self, root: Path, *, clock: Clock = SYSTEM) -> None:
        self._root = root
        self._blobs = root / "blobs" / "sha256"
        self._temporary = root / "tmp"
        self._clock = clock

    def put(
        self,
        source: Path,
        entry: FileEntry,
        *,
        link: bool,
        on_bytes: Callable[[int], None] = ignore_bytes,
    ) -> None:
        self._put(source, entry, link=link)
        on_bytes(entry.size_bytes)

    def _put(self, source: Path, entry: FileEntry, *, link: bool) -> None:
        target = self._path(entry.sha256)
        if self._holds(target, entry) and _made_young(target):
            return
        make_folder(target.parent)
        make_folder(self._temporary)
        temporary = self._temporary / uuid.uuid4().hex
        try:
            place_file(source, temporary, entry, link=link)
            temporary.chmod(_READ_ONLY)
            os.utime(temporary)
            sync_file(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(target.parent)

    def missing(self, entries: Sequence[FileEntry]) -> Sequence[FileEntry]:
        return [each for each in entries if not self._path(each.sha256).exists()]

    def check(self, entry: FileEntry, on_bytes: Callable[[int], None] = ignore_bytes) -> None:
        try:
            actual = hash_file(self._path(entry.sha256), on_bytes)
        except FileNotFoundError:
            raise ArtifactFailure.of(
                artifacts.MISSING_BLOB, path=entry.path, sha256=entry.sha256
            ) from None
        if actual != entry.sha256:
            raise corrupt_blob(entry.path, entry.sha256, actual)

    def take(
        self, entry: FileEntry, destination: Path, on_bytes: Callable[[int], None] = ignore_bytes
    ) -> None:
        self.check(entry, on_bytes)
        place_file(self._path(entry.sha256), destination, entry, link=True)

    def read(self, entry: FileEntry) -> Iterator[bytes]:
        try:
            file = self._path(entry.sha256).open("rb")
        except FileNotFoundError:
            raise ArtifactFailure.of(
                artifacts.MISSING_BLOB, path=entry.path, sha256=entry.sha256
            ) from None
        digest, buffer = hashlib.sha256(), b""
        with file:
            for chunk in read_chunks(file):
                digest.update(chunk)
                # One piece behind: a damaged file must never arrive whole.
                if buffer:
                    yield buffer
                buffer = chunk
        if digest.hexdigest() != entry.sha256:
            raise corrupt_blob(entry.path, entry.sha256, digest.hexdigest())
        yield buffer

    def ages(self) -> Iterator[tuple[str, float]]:
        now = self._clock.time()
        for path in sorted(self._blobs.glob("??/*")):
            yield path.name, now - path.stat().st_mtime

    def delete(self, sha256: str, *, older_than_seconds: float) -> int | None:
        path = self._path(sha256)
        status = path.stat()
        if self._clock.time() - status.st_mtime < older_than_seconds:
            return None
        path.unlink()
        return status.st_size

    def delete_leftovers(self, older_than_seconds: float) -> None:
        for path in self._temporary.glob("*"):
            if self._clock.time() - path.stat().st_mtime >= older_than_seconds:
                path.unlink(missing_ok=True)

    def read_document(self, path: str) -> bytes | None:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def create_document(self, path: str, content: bytes) -> bool:
        with disk_full_named(self._root):
            make_folder((self._root / path).parent)
            return create_atomically(self._root / path, content)

    def write_document(self, path: str, content: bytes) -> None:
        with disk_full_named(self._root):
            make_folder((self._root / path).parent)
            write_atomically(self._root / path, content)

    def touch_document(self, path: str) -> None:
        try:
            os.utime(self._root / path)
        except FileNotFoundError:
            return
        except PermissionError:
            # That of another user cannot be touched, only written anew.
            self.write_document(path, (self._root / path).read_bytes())

    def delete_document(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)

    def documents(self, folder: str) -> Iterator[tuple[str, float]]:
        now = self._clock.time()
        for path in sorted((self._root / folder).glob("*.json")):
            yield path.name, now - path.stat().st_mtime

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with shared(self._root), disk_full_named(self._root):
            yield

    @contextmanager
    def alone(self) -> Iterator[bool]:
        with exclusive(self._root) as alone:
            yield alone

    def _path(self, sha256: str) -> Path:
        return self._blobs / sha256[:2] / sha256

    def _holds(self, target: Path, entry: FileEntry) -> bool:
        # Publishing again is how a damaged blob heals, so its presence alone is not enough.
        return target.exists() and hash_file(target) == entry.sha256


def _made_young(blob: Path) -> bool:
    """Return whether a reused blob counts as young, which a sweep spares.

    That of another user cannot be touched, only put there anew.
    """
    try:
        os.utime(blob)
    except PermissionError:
        return False
    return True


def place_file(source: Path, destination: Path, entry: FileEntry, *, link: bool) -> None:
    """Make `destination` a hard link to `source`, or a copy checked against the entry."""
    if link:
        # Another file system, too many links or no permission: a copy does as well.
        with contextlib.suppress(OSError):
            os.link(source, destination)
            return
    digest = hashlib.sha256()
    with source.open("rb") as reader, destination.open("xb") as writer:
        for chunk in read_chunks(reader):
            digest.update(chunk)
            writer.write(chunk)
    if digest.hexdigest() != entry.sha256:
        destination.unlink()
        raise corrupt_blob(entry.path, entry.sha256, digest.hexdigest())

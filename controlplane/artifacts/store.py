"""The artifact store: publish a folder, read it back verified.

Blobs are written first and the manifest last, so what has a manifest is whole.
"""

import json
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from controlplane.artifacts.blobs import BlobStore, LocalBlobStore
from controlplane.artifacts.digests import FileEntry, describe, ignore_bytes
from controlplane.artifacts.durable import (
    make_folder,
    means_disk_full,
    sync_directory,
    write_atomically,
)
from controlplane.artifacts.failures import (
    ArtifactFailure,
    disk_full,
    missing_artifact,
    unsupported_url,
)
from controlplane.artifacts.locking import shared
from controlplane.artifacts.manifests import Manifest, hex_of, read_manifest
from controlplane.artifacts.sweeping import Swept, sweep
from controlplane.clock import SYSTEM, Clock


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the store now holds; `reused` when it held the same files before."""

    content_digest: str
    size_bytes: int
    files: tuple[FileEntry, ...]
    reused: bool


class ArtifactStore:
    """Published artifacts under one folder."""

    def __init__(self, root: Path, blobs: BlobStore, *, clock: Clock = SYSTEM) -> None:
        self._root = root
        self._blobs = blobs
        self._clock = clock

    @classmethod
    def open(cls, url: str, *, clock: Clock = SYSTEM) -> "ArtifactStore":
        """Return the store at a `file:///folder` URL; the folder is made on the first publish."""
        parts = urlsplit(url)
        if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or not parts.path:
            raise unsupported_url(url)
        root = Path(unquote(parts.path))
        return cls(root, LocalBlobStore(root, clock=clock), clock=clock)

    def publish(
        self,
        directory: Path,
        passport: Mapping[str, Any],
        *,
        files: tuple[FileEntry, ...] | None = None,
        link: bool = False,
    ) -> Published:
        """Store every file of `directory`; the first passport of a content stays.

        `link` allows hard links in place of copies: only for a folder that nobody writes to again.
        """
        with shared(self._root), _disk_full_named(self._root):
            manifest = Manifest(describe(directory) if files is None else files)
            for entry in manifest.files:
                self._blobs.put(directory / entry.path, entry, link=link)
            digest = manifest.content_digest
            make_folder(self._manifest_path(digest).parent)
            make_folder(self._passport_path(digest).parent)
            reused = self.exists(digest)
            if not reused:
                write_atomically(self._passport_path(digest), _to_json(passport))
            # Written again on reuse: it heals a damaged one and makes it young for the sweep.
            write_atomically(self._manifest_path(digest), manifest.to_bytes())
        return Published(
            content_digest=digest,
            size_bytes=manifest.size_bytes,
            files=manifest.files,
            reused=reused,
        )

    def exists(self, content_digest: str) -> bool:
        """Return whether the artifact was published."""
        return self._manifest_path(content_digest).exists()

    def manifest(self, content_digest: str) -> Manifest:
        """Return the artifact's list of files."""
        return read_manifest(
            _read(self._manifest_path(content_digest), content_digest), content_digest
        )

    def passport(self, content_digest: str) -> dict[str, Any]:
        """Return what was recorded when the artifact was first published."""
        passport: dict[str, Any] = json.loads(
            _read(self._passport_path(content_digest), content_digest)
        )
        return passport

    def verify(
        self, content_digest: str, on_bytes: Callable[[int], None] = ignore_bytes
    ) -> Manifest:
        """Return the manifest once every stored byte was read and found right."""
        manifest = self.manifest(content_digest)
        for entry in manifest.files:
            self._blobs.check(entry, on_bytes)
        return manifest

    def read(self, entry: FileEntry) -> Iterator[bytes]:
        """Yield the bytes of one file, verified: a damaged one raises before it is whole."""
        return self._blobs.read(entry)

    def materialize(
        self,
        content_digest: str,
        destination: Path,
        on_bytes: Callable[[int], None] = ignore_bytes,
    ) -> Path:
        """Return `destination`, holding exactly the artifact's files, each verified on the way.

        A folder that is already right is left alone; a wrong one is replaced.
        """
        with shared(self._root), _disk_full_named(destination):
            manifest = self.manifest(content_digest)
            if _is_exactly(destination, manifest, on_bytes):
                return destination
            destination.parent.mkdir(parents=True, exist_ok=True)
            temporary = destination.with_name(f".{destination.name}.{uuid.uuid4().hex}")
            try:
                self._fill(temporary, manifest, on_bytes)
                _move_into_place(temporary, destination, manifest)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        return destination

    def spare(self, content_digest: str) -> None:
        """Let the grace of the sweep begin now, for what has just lost its last reference."""
        with suppress(FileNotFoundError):
            os.utime(self._manifest_path(content_digest))

    def sweep(self, referenced: Collection[str], grace_seconds: float) -> Swept:
        """Remove artifacts that are neither referenced nor young, and blobs that nothing names."""
        return sweep(self._root, self._blobs, referenced, grace_seconds, clock=self._clock)

    def _fill(self, directory: Path, manifest: Manifest, on_bytes: Callable[[int], None]) -> None:
        directory.mkdir()
        for entry in manifest.files:
            target = directory / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._blobs.take(entry, target, on_bytes)
        sync_directory(directory)

    def _manifest_path(self, digest: str) -> Path:
        return self._root / "manifests" / f"{hex_of(digest)}.json"

    def _passport_path(self, digest: str) -> Path:
        return self._root / "passports" / f"{hex_of(digest)}.json"


def _is_exactly(directory: Path, manifest: Manifest, on_bytes: Callable[[int], None]) -> bool:
    if not directory.is_dir():
        return False
    try:
        return describe(directory, on_bytes) == manifest.files
    except ArtifactFailure:  # a link or a device, which no artifact holds
        return False


def _move_into_place(temporary: Path, destination: Path, manifest: Manifest) -> None:
    try:
        temporary.rename(destination)
    except OSError:
        # Someone else was first, or what lies there is wrong.
        if _is_exactly(destination, manifest, ignore_bytes):
            return
        aside = temporary.with_name(f"{temporary.name}.wrong")
        destination.rename(aside)
        temporary.rename(destination)
        shutil.rmtree(aside)
    sync_directory(destination.parent)


def _read(path: Path, digest: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise missing_artifact(digest) from None


def _to_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


@contextmanager
def _disk_full_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if means_disk_full(error):
            raise disk_full(os.fspath(folder)) from error
        raise

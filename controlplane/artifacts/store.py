"""The artifact store: publish a folder, read it back verified.

Blobs are written first and the manifest last, so what has a manifest is whole.
"""

import json
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.digests import FileEntry, content_digest, describe, ignore_bytes
from controlplane.artifacts.durable import disk_full_named, held_folder, sync_directory
from controlplane.artifacts.failures import (
    ArtifactFailure,
    unwritable,
)
from controlplane.artifacts.manifests import (
    CHECKS,
    MANIFESTS,
    Manifest,
    digest_of,
    manifest_path,
    passport_path,
    read_manifest,
)
from controlplane.artifacts.opening import open_place
from controlplane.artifacts.owner import require_own
from controlplane.artifacts.patience import BUILDS, Patience
from controlplane.artifacts.sweeping import Swept, sweep
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures.registry import artifacts

_MOST_ROUNDS = 3
"""Rounds of putting again what a sweep took in the middle of a publish longer than its grace."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the store now holds; `reused` when it held the same files before."""

    content_digest: str
    size_bytes: int
    files: tuple[FileEntry, ...]
    reused: bool


class ArtifactStore:
    """Published artifacts in one folder or bucket."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    @classmethod
    def open(
        cls,
        url: str,
        *,
        variables: Mapping[str, str] | None = None,
        patience: Patience = BUILDS,
        clock: Clock = SYSTEM,
    ) -> "ArtifactStore":
        """Return the store at `file:///folder` or `s3://bucket/prefix`; nothing is asked yet.

        `variables` are those of AWS (`store_variables()`), which a process that has none of its
        own was handed; the environment's where they are left out.
        """
        return cls(open_place(url, variables=variables, patience=patience, clock=clock))

    def publish(
        self,
        directory: Path,
        passport: Mapping[str, Any],
        *,
        files: tuple[FileEntry, ...] | None = None,
        link: bool = False,
        on_bytes: Callable[[int], None] = ignore_bytes,
    ) -> Published:
        """Store every file of `directory`; the first passport of a content stays.

        `link` allows hard links in place of copies: only for a folder that nobody writes to again.
        """
        with self._blobs.in_use():
            manifest = Manifest(describe(directory) if files is None else files)
            for entry in manifest.files:
                self._blobs.put(directory / entry.path, entry, link=link, on_bytes=on_bytes)
            reused = not self._name(manifest, passport)
            self._put_again(directory, manifest, link=link)
        return Published(
            content_digest=manifest.content_digest,
            size_bytes=manifest.size_bytes,
            files=manifest.files,
            reused=reused,
        )

    def exists(self, content_digest: str) -> bool:
        return self._blobs.read_document(manifest_path(content_digest)) is not None

    def manifest(self, content_digest: str) -> Manifest:
        stored = self._document(manifest_path(content_digest), content_digest)
        return read_manifest(stored, content_digest)

    def passport(self, content_digest: str) -> dict[str, Any]:
        """Return what was recorded when the artifact was first published."""
        stored = self._document(passport_path(content_digest), content_digest)
        passport: dict[str, Any] = json.loads(stored)
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
        if holds_exactly(destination, content_digest, on_bytes):
            return destination
        with self._blobs.in_use(), disk_full_named(destination):
            manifest = self.manifest(content_digest)
            destination.parent.mkdir(parents=True, exist_ok=True)
            temporary = destination.with_name(f".{destination.name}.{uuid.uuid4().hex}")
            try:
                with held_folder(temporary):
                    self._fill(temporary, manifest, on_bytes)
                    _move_into_place(temporary, destination, content_digest)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        return destination

    def digests(self) -> list[str]:
        digests = (digest_of(name) for name, _ in self._blobs.documents(MANIFESTS))
        return sorted(digest for digest in digests if digest is not None)

    def copy_to(self, target: "ArtifactStore", content_digest: str, scratch: Path) -> None:
        """Put an artifact and its first passport into another store, a file at a time.

        The manifest is the last there too. Raises ArtifactFailure.
        """
        with self._blobs.in_use(), target._blobs.in_use(), disk_full_named(scratch):
            manifest = self.manifest(content_digest)
            file = scratch / "file"
            for entry in manifest.files:
                self._blobs.take(entry, file, ignore_bytes)
                target._blobs.put(file, entry, link=True)
                file.unlink()
            target._name(manifest, self.passport(content_digest))

    def probe(self) -> None:
        """Write something small, read it back and remove it.

        Raises ArtifactFailure where that cannot be done.
        """
        path, content = f"{CHECKS}/{uuid.uuid4().hex}.json", b"{}"
        try:
            self._blobs.write_document(path, content)
            read_back = self._blobs.read_document(path)
            self._blobs.delete_document(path)
        except OSError as error:
            raise unwritable(error) from error
        if read_back != content:
            raise ArtifactFailure.of(artifacts.FORGETFUL, path=path)

    def require_own(self, installation: str) -> None:
        """Return if it is this installation's store, as a first look makes it.

        Raises ArtifactFailure where it is another's.
        """
        require_own(self._blobs, installation)

    def spare(self, content_digest: str) -> None:
        """Let the grace of the sweep begin now, for what is about to lose its last reference."""
        self._blobs.touch_document(manifest_path(content_digest))

    def sweep(self, referenced: Collection[str], grace_seconds: float) -> Swept:
        """Remove artifacts that are neither referenced nor young, and blobs that nothing names."""
        return sweep(self._blobs, referenced, grace_seconds)

    def _name(self, manifest: Manifest, passport: Mapping[str, Any]) -> bool:
        """Return whether this publish was the first of its content; the first passport stays."""
        digest = manifest.content_digest
        self._blobs.create_document(passport_path(digest), _to_json(passport))
        if self._blobs.create_document(manifest_path(digest), manifest.to_bytes()):
            return True
        # Written again: it heals a damaged one and makes it young for the sweep.
        self._blobs.write_document(manifest_path(digest), manifest.to_bytes())
        return False

    def _put_again(self, directory: Path, manifest: Manifest, *, link: bool) -> None:
        """Store what was swept before the manifest named it: a publish may outlast the grace."""
        for _ in range(_MOST_ROUNDS):
            missing = self._blobs.missing(manifest.files)
            for entry in missing:
                self._blobs.put(directory / entry.path, entry, link=link)
            if not missing:
                return

    def _document(self, path: str, digest: str) -> bytes:
        content = self._blobs.read_document(path)
        if content is None:
            raise ArtifactFailure.of(artifacts.MISSING, digest=digest)
        return content

    def _fill(self, directory: Path, manifest: Manifest, on_bytes: Callable[[int], None]) -> None:
        for entry in manifest.files:
            target = directory / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._blobs.take(entry, target, on_bytes)
        sync_directory(directory)


def holds_exactly(
    directory: Path, digest: str, on_bytes: Callable[[int], None] = ignore_bytes
) -> bool:
    """Return whether a folder is the artifact; no store is asked, which may be away."""
    if not directory.is_dir():
        return False
    try:
        return content_digest(describe(directory, on_bytes)) == digest
    except ArtifactFailure:  # a link or a device, which no artifact holds
        return False


def _move_into_place(temporary: Path, destination: Path, digest: str) -> None:
    try:
        temporary.rename(destination)
    except OSError:
        # Someone else was first, or what lies there is wrong.
        if holds_exactly(destination, digest):
            return
        aside = temporary.with_name(f"{temporary.name}.wrong")
        destination.rename(aside)
        temporary.rename(destination)
        shutil.rmtree(aside, ignore_errors=True)
    sync_directory(destination.parent)


def _to_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()

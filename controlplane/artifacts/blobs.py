"""What the artifact store asks of the place that holds its bytes: a folder or a bucket."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from controlplane.artifacts.digests import FileEntry, ignore_bytes


class BlobStore(Protocol):
    """Files by their sha256, and small documents by their path.

    A blob or document is there whole or not at all, whatever interrupts its writing.
    """

    def put(
        self,
        source: Path,
        entry: FileEntry,
        *,
        link: bool,
        on_bytes: Callable[[int], None] = ignore_bytes,
    ) -> None:
        """Store the file, durable before this returns, and young for a sweep.

        `link` says that nobody writes to it since it was hashed: it may become a link, and is not
        hashed again.
        """

    def missing(self, entries: Sequence[FileEntry]) -> Sequence[FileEntry]:
        """Return those of the entries that are not stored; their bytes are not read."""

    def check(self, entry: FileEntry, on_bytes: Callable[[int], None]) -> None:
        """Raise ArtifactFailure unless the stored bytes are the entry's."""

    def take(self, entry: FileEntry, destination: Path, on_bytes: Callable[[int], None]) -> None:
        """Put the verified file at `destination`."""

    def read(self, entry: FileEntry) -> Iterator[bytes]:
        """Yield the entry's bytes, the last piece only once all of them were found right."""

    def ages(self) -> Iterator[tuple[str, float]]:
        """Return every stored sha256 with the seconds since it was last put."""

    def delete(self, sha256: str, *, older_than_seconds: float) -> int | None:
        """Remove a blob and return its size; None for one that was put again meanwhile."""

    def delete_leftovers(self, older_than_seconds: float) -> None:
        """Remove what interrupted writes have left."""

    def read_document(self, path: str) -> bytes | None:
        """Return its content, or None where there is none."""

    def create_document(self, path: str, content: bytes) -> bool:
        """Store a document unless there is one: of many that try at once, one is answered True."""

    def write_document(self, path: str, content: bytes) -> None:
        """Store a document, in place of another."""

    def touch_document(self, path: str) -> None:
        """Make a document young for a sweep, where there is one."""

    def delete_document(self, path: str) -> None:
        """Remove a document, where there is one."""

    def documents(self, folder: str) -> Iterator[tuple[str, float]]:
        """Return the name of every document in a folder with its age in seconds."""

    def in_use(self) -> AbstractContextManager[None]:
        """Hold the store against a sweep, where the place knows locks."""

    def alone(self) -> AbstractContextManager[bool]:
        """Give whether a sweep may begin."""

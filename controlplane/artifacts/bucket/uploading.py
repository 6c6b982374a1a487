"""A file on its way into the bucket, part by part."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from controlplane.artifacts.bucket.client import BucketClient
from controlplane.artifacts.bucket.parts import Part
from controlplane.artifacts.digests import FileEntry, hash_file
from controlplane.artifacts.failures import corrupt_blob


class Upload:
    """Reads the file as it goes; parts may be put from several threads."""

    def __init__(self, client: BucketClient, descriptor: int) -> None:
        self._client = client
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def of(
        cls, client: BucketClient, source: Path, entry: FileEntry, *, is_settled: bool
    ) -> Iterator[Self]:
        """Give the upload of a file. Raises ArtifactFailure where it is not what the entry says.

        Checked before the first part: under a wrong name it would spoil what is right there. Not of
        a file that nobody writes to since it was hashed.
        """
        if not is_settled and (actual := hash_file(source)) != entry.sha256:
            raise corrupt_blob(entry.path, entry.sha256, actual)
        with source.open("rb") as file:
            yield cls(client, file.fileno())

    def put(self, part: Part, stored: Mapping[str, int]) -> bool:
        """Return whether the part had to be sent: not one that is there and reads back right."""
        if stored.get(part.key) == part.size_bytes and self._is_right(part):
            return False
        self.send(part)
        return True

    def send(self, part: Part) -> None:
        self._client.put(part.key, self._read(part.start, part.size_bytes))

    def _is_right(self, part: Part) -> bool:
        """Return whether the stored bytes are the file's: publishing again heals damaged ones."""
        start = part.start
        for piece in self._client.stream(part.key, part.size_bytes):
            if self._read(start, len(piece)) != piece:
                return False
            start += len(piece)
        return True

    def _read(self, start: int, count: int) -> bytes:
        return os.pread(self._descriptor, count, start)

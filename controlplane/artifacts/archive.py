"""An artifact as a tar archive, made while it is sent: its size is known before its first byte."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.artifacts.digests import FileEntry
from controlplane.artifacts.manifests import Manifest
from controlplane.artifacts.store import ArtifactStore

_END = b"\0" * 2 * tarfile.BLOCKSIZE
_MODE = 0o644


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The files of an artifact in a folder of their own, and its passport beside that folder."""

    store: ArtifactStore
    manifest: Manifest
    name: str
    """Of the folder, and the beginning of the passport's name."""
    passport: bytes

    @property
    def size_bytes(self) -> int:
        sizes = [(self._passport_name, len(self.passport))]
        sizes += [(self._path(each), each.size_bytes) for each in self.manifest.files]
        return sum(len(_header(*each)) + _padded(each[1]) for each in sizes) + len(_END)

    def chunks(self) -> Iterator[bytes]:
        """Yield the archive. Raises ArtifactFailure in the middle of a file that is damaged."""
        yield _header(self._passport_name, len(self.passport))
        yield self.passport + _padding(len(self.passport))
        for entry in self.manifest.files:
            yield _header(self._path(entry), entry.size_bytes)
            yield from self.store.read(entry)
            yield _padding(entry.size_bytes)
        yield _END

    @property
    def _passport_name(self) -> str:
        return f"{self.name}.passport.json"

    def _path(self, entry: FileEntry) -> str:
        return f"{self.name}/{entry.path}"


def _header(path: str, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, _MODE
    return info.tobuf(tarfile.PAX_FORMAT)


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _padding(size: int) -> bytes:
    return b"\0" * (_padded(size) - size)

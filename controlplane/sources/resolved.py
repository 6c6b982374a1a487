"""A checkpoint repository pinned to one commit."""

from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.domain.spec import CheckpointRepository


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file that a runtime reads, with what the source says of its content."""

    path: str
    size_bytes: int
    sha256: str | None = None
    git_sha1: str | None = None
    """The git blob id, which the hub gives for files outside its large-file storage."""
    md5: str | None = None
    """Where the ETag of a bucket's object is known to be one."""
    etag: str | None = None
    """What a request for this state of an object names; any other state is refused."""
    modified_ns: int | None = None
    real_path: Path | None = None
    """The file itself, every link followed, where the source is a folder."""
    is_code: bool = False
    """Python of the checkpoint's own: fetched only for a build that may run it."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What will be fetched, whatever happens to the branch in the meantime."""

    checkpoint: CheckpointRepository
    commit: str
    files: tuple[SourceFile, ...]
    folder: Path | None = None
    """Where a `LOCAL` checkpoint lies."""
    archive: Path | None = None
    """Where the archive behind a `REMOTE_URL` was downloaded to."""
    archive_folder: str = ""
    """The folder of the archive that holds the files; empty for its top."""

    def without_code(self) -> "Resolved":
        return replace(self, files=tuple(each for each in self.files if not each.is_code))

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.files)

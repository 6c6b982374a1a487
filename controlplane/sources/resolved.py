"""A checkpoint repository pinned to one commit."""

from dataclasses import dataclass
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
    modified_ns: int | None = None
    real_path: Path | None = None
    """The file itself, every link followed, where the source is a folder."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What will be fetched, whatever happens to the branch in the meantime."""

    checkpoint: CheckpointRepository
    commit: str
    files: tuple[SourceFile, ...]
    folder: Path | None = None
    """Where a `LOCAL` checkpoint lies."""

    @property
    def size_bytes(self) -> int:
        """The sum of the file sizes."""
        return sum(each.size_bytes for each in self.files)

"""Artifacts from one store into another, each whole or not at all."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.artifacts.store import ArtifactStore


@dataclass(frozen=True, kw_only=True)
class Copied:
    """One artifact that the target has now; `was_there` when it had it before."""

    content_digest: str
    size_bytes: int
    was_there: bool


def copy_artifacts(
    source: ArtifactStore, target: ArtifactStore, scratch: Path, *, verifies: bool = False
) -> Iterator[Copied]:
    """Yield each artifact of `source` once `target` has it; run again, it goes on.

    Files are verified as they are read. With `verifies`, so is what the target had before, and what
    is damaged there is healed. `scratch` takes one file at a time.
    """
    for digest in source.digests():
        was_there = _has(target, digest, verifies=verifies)
        if not was_there:
            with tempfile.TemporaryDirectory(dir=scratch, prefix="artifacts-copy-") as folder:
                source.copy_to(target, digest, Path(folder))
        size_bytes = source.manifest(digest).size_bytes
        yield Copied(content_digest=digest, size_bytes=size_bytes, was_there=was_there)


def _has(target: ArtifactStore, digest: str, *, verifies: bool) -> bool:
    if not verifies:
        return target.exists(digest)
    try:
        target.verify(digest)
    except ArtifactFailure as failed:
        if not failed.is_loss:
            raise
        return False
    return True

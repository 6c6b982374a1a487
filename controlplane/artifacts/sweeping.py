"""Mark and sweep over the artifact store."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.locking import exclusive
from controlplane.artifacts.manifests import hex_of, read_manifest
from controlplane.clock import SYSTEM, Clock


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What a sweep removed; `busy` when the store was in use and nothing was looked at."""

    artifacts: int = 0
    blobs: int = 0
    freed_bytes: int = 0
    busy: bool = False


def sweep(
    root: Path,
    blobs: BlobStore,
    referenced: Collection[str],
    grace_seconds: float,
    *,
    clock: Clock = SYSTEM,
) -> Swept:
    """Remove unreferenced artifacts past their grace, then blobs past theirs that none names.

    1. Drop each such manifest, then its passport: without a manifest the artifact is gone.
    2. Mark the blobs that the remaining manifests name.
    3. Delete the others that are older than the grace, and old leftovers of broken writes.
    """
    with exclusive(root) as alone:
        if not alone:
            return Swept(busy=True)
        young_since = clock.time() - grace_seconds
        artifacts = _drop_artifacts(root, {hex_of(each) for each in referenced}, young_since)
        named = _named_blobs(root)
        doomed = [
            sha256 for sha256, age in blobs.ages() if sha256 not in named and age >= grace_seconds
        ]
        freed = sum(blobs.delete(sha256) for sha256 in doomed)
        blobs.delete_leftovers(grace_seconds)
        return Swept(artifacts=artifacts, blobs=len(doomed), freed_bytes=freed)


def _drop_artifacts(root: Path, referenced: set[str], young_since: float) -> int:
    dropped = 0
    for path in (root / "manifests").glob("*.json"):
        old = path.stat().st_mtime <= young_since
        if path.stem not in referenced and old:
            path.unlink()
            (root / "passports" / path.name).unlink(missing_ok=True)
            dropped += 1
    return dropped


def _named_blobs(root: Path) -> set[str]:
    # A manifest that cannot be read stops the sweep: its blobs are unknown and must not go.
    return {
        entry.sha256
        for path in (root / "manifests").glob("*.json")
        for entry in read_manifest(path.read_bytes(), f"sha256:{path.stem}").files
    }

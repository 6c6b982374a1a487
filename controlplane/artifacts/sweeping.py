from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.manifests import (
    CHECKS,
    MANIFESTS,
    PASSPORTS,
    digest_of,
    manifest_path,
    passport_path,
    read_manifest,
)


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What a sweep removed; `busy` when the store was in use and nothing was looked at."""

    artifacts: int = 0
    blobs: int = 0
    freed_bytes: int = 0
    busy: bool = False


def sweep(blobs: BlobStore, referenced: Collection[str], grace_seconds: float) -> Swept:
    """Remove unreferenced artifacts past their grace, then blobs past theirs that none names.

    1. Drop each such manifest, then its passport: without a manifest the artifact is gone.
    2. Mark the blobs that the remaining manifests name.
    3. Delete the others that are older than the grace, and old leftovers of broken writes.

    A place without locks is swept beside publishes, and is safe by this order: a blob that a
    publish takes as it is becomes young before its manifest is there, and so before step 2.
    """
    with blobs.alone() as alone:
        if not alone:
            return Swept(busy=True)
        kept = _drop_artifacts(blobs, referenced, grace_seconds)
        named = _named_blobs(blobs, kept.artifacts)
        doomed = [
            sha256 for sha256, age in blobs.ages() if sha256 not in named and age >= grace_seconds
        ]
        freed = [blobs.delete(sha256, older_than_seconds=grace_seconds) for sha256 in doomed]
        blobs.delete_leftovers(grace_seconds)
        gone = [size for size in freed if size is not None]
        return Swept(artifacts=kept.dropped, blobs=len(gone), freed_bytes=sum(gone))


@dataclass(frozen=True, kw_only=True)
class _Kept:
    artifacts: Collection[str]
    dropped: int


def _drop_artifacts(blobs: BlobStore, referenced: Collection[str], grace_seconds: float) -> _Kept:
    ages = _ages(blobs, MANIFESTS)
    old = [each for each, age in ages.items() if each not in referenced and age >= grace_seconds]
    for digest in old:
        blobs.delete_document(manifest_path(digest))
        blobs.delete_document(passport_path(digest))
    kept = ages.keys() - set(old)
    for name, age in list(blobs.documents(CHECKS)):
        if age >= grace_seconds:  # of a check that was killed
            blobs.delete_document(f"{CHECKS}/{name}")
    _drop_passports(blobs, ages, grace_seconds)
    return _Kept(artifacts=kept, dropped=len(old))


def _drop_passports(blobs: BlobStore, known: Mapping[str, float], grace_seconds: float) -> None:
    """Remove those of publishes that never got as far as a manifest."""
    for digest, age in _ages(blobs, PASSPORTS).items():
        if digest not in known and age >= grace_seconds:
            blobs.delete_document(passport_path(digest))


def _ages(blobs: BlobStore, folder: str) -> dict[str, float]:
    """Return the artifacts that have a document there; what has another name is left alone."""
    ages = ((digest_of(name), age) for name, age in blobs.documents(folder))
    return {digest: age for digest, age in ages if digest is not None}


def _named_blobs(blobs: BlobStore, artifacts: Collection[str]) -> set[str]:
    # A manifest that cannot be read stops the sweep: its blobs are unknown and must not go.
    named: set[str] = set()
    for digest in artifacts:
        content = blobs.read_document(manifest_path(digest))
        if content is not None:  # another sweep may have been quicker
            named |= {entry.sha256 for entry in read_manifest(content, digest).files}
    return named

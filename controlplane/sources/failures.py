"""What can go wrong with a checkpoint source: its failures, in the user's values."""

from collections.abc import Sequence
from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import any_source, local_folders
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import shown

_PREFIXES = {
    CheckpointSource.HF: "EHF",
    CheckpointSource.LOCAL: "EHL",
    CheckpointSource.S3: "ES3",
    CheckpointSource.GCS: "EGC",
    CheckpointSource.AZURE: "EAZ",
    CheckpointSource.REMOTE_URL: "EUR",
    CheckpointSource.BASETEN_TRAINING: "EHS",
}


class SourceFailure(RaisedFailure):
    """A source that cannot give its checkpoint."""


def hosted_training(checkpoint: CheckpointRepository) -> SourceFailure:
    return SourceFailure.of(any_source.HOSTED_TRAINING, repo=shown(checkpoint.repo))


def gguf_only(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    return source_failure(any_source.GGUF, checkpoint, file=names[0])


def pickled_weights(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    return source_failure(any_source.PICKLED_WEIGHTS, checkpoint, file=names[0])


def incomplete(checkpoint: CheckpointRepository, missing: Sequence[str]) -> SourceFailure:
    return source_failure(any_source.INCOMPLETE, checkpoint, count=len(missing), file=missing[0])


def bad_file(checkpoint_name: str, path: str, reason: str) -> SourceFailure:
    return SourceFailure.of(
        any_source.BAD_FILE, checkpoint=checkpoint_name, file=path, reason=reason
    )


def outside_roots(path: str, roots: Sequence[str]) -> SourceFailure:
    if not roots:
        return SourceFailure.of(local_folders.NO_ROOTS, path=path)
    return SourceFailure.of(local_folders.OUTSIDE_ROOTS, path=path, roots=_listed(roots))


def missing_folder(path: str, looked_in: Sequence[str]) -> SourceFailure:
    where = f"in {_listed(looked_in)}" if looked_in else "on this machine"
    return SourceFailure.of(local_folders.MISSING, path=path, where=where)


def gone_commit(checkpoint: CheckpointRepository, commit: str, actual: str) -> SourceFailure:
    repo = shown(checkpoint.repo)
    return SourceFailure.of(local_folders.CHANGED_SINCE, repo=repo, commit=commit, found=actual)


def disk_full(
    checkpoint: CheckpointRepository,
    folder: str,
    needed_bytes: int | None = None,
    free_bytes: int = 0,
) -> SourceFailure:
    if needed_bytes is None:
        return source_failure(any_source.DISK_FULL, checkpoint, folder=folder)
    needed, free = _gigabytes(needed_bytes), _gigabytes(free_bytes)
    return source_failure(
        any_source.DISK_TOO_SMALL, checkpoint, folder=folder, needed=needed, free=free
    )


def code_prefix(checkpoint: CheckpointRepository) -> str:
    return _PREFIXES[checkpoint.source]


def source_failure(
    kind: FailureKind, checkpoint: CheckpointRepository, **values: Any
) -> SourceFailure:
    own = kind.under(code_prefix(checkpoint))
    return SourceFailure.of(own, repo=shown(checkpoint.repo), **values)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 10_000_000 else f"{count / 1e6:.2f} MB"

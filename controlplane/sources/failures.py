"""What can go wrong with a checkpoint source: its failures, in the user's values."""

from collections.abc import Sequence
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.kind import FailureKind
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


class SourceFailure(Exception):
    """Carries the failure to show; its text is the failure's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def hosted_training(checkpoint: CheckpointRepository) -> SourceFailure:
    return SourceFailure(any_source.HOSTED_TRAINING.failure(repo=shown(checkpoint.repo)))


def not_a_checkpoint(checkpoint: CheckpointRepository, missing: str) -> SourceFailure:
    return _of_source(any_source.NOT_A_CHECKPOINT, checkpoint, missing=missing)


def gguf_only(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    return _of_source(any_source.GGUF, checkpoint, file=names[0])


def pickled_weights(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    return _of_source(any_source.PICKLED_WEIGHTS, checkpoint, file=names[0])


def incomplete(checkpoint: CheckpointRepository, missing: Sequence[str]) -> SourceFailure:
    return _of_source(any_source.INCOMPLETE, checkpoint, count=len(missing), file=missing[0])


def bad_file(checkpoint_name: str, path: str, reason: str) -> SourceFailure:
    return SourceFailure(
        any_source.BAD_FILE.failure(checkpoint=checkpoint_name, file=path, reason=reason)
    )


def unsafe_name(checkpoint: CheckpointRepository, name: str) -> SourceFailure:
    return _of_source(any_source.NAME_OUTSIDE, checkpoint, name=name)


def unreadable_name(checkpoint: CheckpointRepository, name: str) -> SourceFailure:
    return _of_source(any_source.NAME_UNREADABLE, checkpoint, name=name)


def outside_roots(path: str, roots: Sequence[str]) -> SourceFailure:
    if not roots:
        return SourceFailure(local_folders.NO_ROOTS.failure(path=path))
    return SourceFailure(local_folders.OUTSIDE_ROOTS.failure(path=path, roots=_listed(roots)))


def missing_folder(path: str, looked_in: Sequence[str]) -> SourceFailure:
    where = f"in {_listed(looked_in)}" if looked_in else "on this machine"
    return SourceFailure(local_folders.MISSING.failure(path=path, where=where))


def unreadable(path: str, reason: str) -> SourceFailure:
    return SourceFailure(local_folders.UNREADABLE.failure(path=path, reason=reason))


def changed_locally(path: str) -> SourceFailure:
    return SourceFailure(local_folders.CHANGED_MEANWHILE.failure(path=path))


def gone_commit(checkpoint: CheckpointRepository, commit: str, found: str) -> SourceFailure:
    repo = shown(checkpoint.repo)
    return SourceFailure(local_folders.CHANGED_SINCE.failure(repo=repo, commit=commit, found=found))


def disk_full(
    checkpoint: CheckpointRepository,
    folder: str,
    needed_bytes: int | None = None,
    free_bytes: int = 0,
) -> SourceFailure:
    """Return the failure for want of room, with figures where the need is known."""
    if needed_bytes is None:
        return _of_source(any_source.DISK_FULL, checkpoint, folder=folder)
    needed, free = _gigabytes(needed_bytes), _gigabytes(free_bytes)
    return _of_source(
        any_source.DISK_TOO_SMALL, checkpoint, folder=folder, needed=needed, free=free
    )


def code_prefix(checkpoint: CheckpointRepository) -> str:
    """Return how the codes of a source's failures begin."""
    return _PREFIXES[checkpoint.source]


def _of_source(kind: FailureKind, checkpoint: CheckpointRepository, **values: Any) -> SourceFailure:
    own = kind.under(code_prefix(checkpoint))
    return SourceFailure(own.failure(repo=shown(checkpoint.repo), **values))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 10_000_000 else f"{count / 1e6:.2f} MB"

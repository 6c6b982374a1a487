"""The three things anyone asks of a checkpoint source."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from controlplane.artifacts.digests import FileEntry
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import SCHEMES
from controlplane.sources import archive, bucket, hugging_face, local
from controlplane.sources.facts import Looked, Reader, look_at
from controlplane.sources.failures import hosted_training
from controlplane.sources.looking import Looks, no_look
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved


def ignore_progress(_done: int, _total: int | None) -> None:
    """Take the progress of a caller that shows none."""


def _never(_commit: str) -> bool:
    return False


def resolve(
    checkpoint: CheckpointRepository,
    *,
    token: str | None,
    options: SourceOptions,
    commit: str | None = None,
    is_adapter: bool = False,
    with_code: Callable[[str], bool] = _never,
    on_progress: Callable[[int, int | None], None] = ignore_progress,
) -> Resolved:
    """Return the repository pinned to a commit, with the files that a runtime reads.

    `token` is the content of its secret. `commit` is one pinned before: anything else found there
    is a failure. `is_adapter` asks for a LoRA adapter instead of a model. `with_code` says whether
    the checkpoint's own Python belongs to it at that commit. An archive has to be fetched for all
    this, which `on_progress` hears of.
    """
    resolved = _resolve(
        checkpoint,
        token,
        _Lookup(options=options, commit=commit, is_adapter=is_adapter),
        on_progress,
    )
    return resolved if with_code(resolved.commit) else resolved.without_code()


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    token: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks = no_look,
) -> tuple[FileEntry, ...]:
    """Return the files, verified and lying in `destination`; `look` sees their bytes go by."""
    if resolved.folder is not None:
        return local.fetch(resolved, destination, on_progress=on_progress, look=look)
    if resolved.archive is not None:
        return archive.fetch(
            resolved, destination, options=options, on_progress=on_progress, look=look
        )
    if resolved.checkpoint.source in SCHEMES:
        return bucket.fetch(
            resolved, destination, secret=token, options=options, on_progress=on_progress, look=look
        )
    return hugging_face.fetch(
        resolved, destination, token=token, options=options, on_progress=on_progress, look=look
    )


def read_facts(
    checkpoint: CheckpointRepository, *, token: str | None, options: SourceOptions
) -> CheckpointFacts:
    return look(checkpoint, token=token, options=options).facts


def look(checkpoint: CheckpointRepository, *, token: str | None, options: SourceOptions) -> Looked:
    """Return the facts of a checkpoint with its config.json, without fetching its weights.

    An archive's config.json is not handed on.
    """
    if checkpoint.source is CheckpointSource.REMOTE_URL:
        return Looked(facts=archive.read_facts(checkpoint, options=options), config={})
    resolved = resolve(checkpoint, token=token, options=options)
    files = [(file.path, file.size_bytes) for file in resolved.files]
    reader = _reader(resolved, token, options)
    return look_at(reader, files, commit=resolved.commit, name=checkpoint.repo)


class _Lookup(TypedDict):
    """What every source is asked by."""

    options: SourceOptions
    commit: str | None
    is_adapter: bool


def _resolve(
    checkpoint: CheckpointRepository,
    token: str | None,
    lookup: "_Lookup",
    on_progress: Callable[[int, int | None], None],
) -> Resolved:
    if checkpoint.source is CheckpointSource.LOCAL:
        return local.resolve(checkpoint, **lookup)
    if checkpoint.source is CheckpointSource.HF:
        return hugging_face.resolve(checkpoint, token=token, **lookup)
    if checkpoint.source in SCHEMES:
        return bucket.resolve(checkpoint, secret=token, **lookup)
    if checkpoint.source is CheckpointSource.REMOTE_URL:
        return archive.resolve(checkpoint, on_progress=on_progress, **lookup)
    raise hosted_training(checkpoint)


def _reader(resolved: Resolved, token: str | None, options: SourceOptions) -> Reader:
    if resolved.folder is not None:
        return local.FolderReader(resolved.folder)
    if resolved.checkpoint.source in SCHEMES:
        return bucket.BucketReader(resolved, secret=token, options=options)
    return hugging_face.HubReader(resolved, token=token, options=options)

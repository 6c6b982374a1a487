"""The three things anyone asks of a checkpoint source."""

from collections.abc import Callable
from pathlib import Path

from controlplane.artifacts.digests import FileEntry
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import hugging_face, local
from controlplane.sources.facts import Reader, facts_of
from controlplane.sources.failures import unsupported
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved


def resolve(
    checkpoint: CheckpointRepository,
    *,
    token: str | None,
    options: SourceOptions,
    commit: str | None = None,
) -> Resolved:
    """Return the repository pinned to a commit, with the files that a runtime reads.

    `commit` is one pinned before: anything else found there is a failure.
    """
    if checkpoint.source == "LOCAL":
        return local.resolve(checkpoint, options=options, commit=commit)
    if checkpoint.source == "HF":
        return hugging_face.resolve(checkpoint, token=token, options=options, commit=commit)
    raise unsupported(checkpoint)


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    token: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
) -> tuple[FileEntry, ...]:
    """Return the files, verified and lying in `destination`."""
    if resolved.folder is not None:
        return local.fetch(resolved, destination, on_progress=on_progress)
    return hugging_face.fetch(
        resolved, destination, token=token, options=options, on_progress=on_progress
    )


def read_facts(
    checkpoint: CheckpointRepository, *, token: str | None, options: SourceOptions
) -> CheckpointFacts:
    """Return the facts of a checkpoint without fetching its weights."""
    resolved = resolve(checkpoint, token=token, options=options)
    reader: Reader = (
        local.FolderReader(resolved.folder)
        if resolved.folder is not None
        else hugging_face.HubReader(resolved, token=token, options=options)
    )
    files = [(file.path, file.size_bytes) for file in resolved.files]
    return facts_of(reader, files, commit=resolved.commit, name=checkpoint.repo)

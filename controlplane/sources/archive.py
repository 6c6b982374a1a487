"""Checkpoints in an archive behind an address: a tar or tar.gz, pinned by its sha256."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from controlplane.artifacts.digests import FileEntry
from controlplane.artifacts.durable import means_disk_full
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures.registry import archives
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import archive_url
from controlplane.sources import archive_failures as failures
from controlplane.sources.archive_download import Archive, ArchiveDownload
from controlplane.sources.archive_failures import archive_failure
from controlplane.sources.archive_files import is_ballast, list_archive, top_folder, unpack
from controlplane.sources.archive_peek import peek
from controlplane.sources.failures import disk_full
from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved, SourceFile
from controlplane.sources.room import check_room
from controlplane.sources.selection import select, select_code


def resolve(
    checkpoint: CheckpointRepository,
    *,
    options: SourceOptions,
    commit: str | None,
    on_progress: Callable[[int, int | None], None],
    is_adapter: bool = False,
) -> Resolved:
    """Return the archive's files, the archive now lying here: its sha256 is the commit."""
    _check(checkpoint)
    download = ArchiveDownload(
        checkpoint, _cache(options), options=options, on_progress=on_progress
    )
    archive = (download.kept(commit) if commit else None) or download.run()
    if commit is not None and archive.sha256 != commit:
        raise archive_failure(
            archives.CHANGED, checkpoint.repo, expected=commit, found=archive.sha256
        )
    return _resolved(checkpoint, archive, options, is_adapter)


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    assert resolved.archive is not None
    destination.mkdir(parents=True, exist_ok=True)
    check_room(resolved.checkpoint, destination, resolved.size_bytes)
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        on_progress(done, resolved.size_bytes)

    paths = {f"{resolved.archive_folder}{file.path}": file.path for file in resolved.files}
    url = resolved.checkpoint.repo
    try:
        return unpack(
            resolved.archive, url, paths, destination, options=options, on_bytes=add, look=look
        )
    except OSError as error:
        if means_disk_full(error):
            raise disk_full(resolved.checkpoint, os.fspath(destination)) from error
        raise


def read_facts(checkpoint: CheckpointRepository, *, options: SourceOptions) -> CheckpointFacts:
    """Return the facts of an archive from its beginning, without keeping it.

    Whole where the archive is small, or a plain tar on a server with ranges; otherwise as far as
    the small files at its front tell. The build reads all of them again.
    """
    _check(checkpoint)
    return peek(checkpoint, options)


def _check(checkpoint: CheckpointRepository) -> None:
    if archive_url(checkpoint.repo) is None:
        raise failures.wrong_address(checkpoint)


def _cache(options: SourceOptions) -> Path:
    return options.cache_dir or Path(tempfile.gettempdir()) / "enginehouse-archives"


def _resolved(
    checkpoint: CheckpointRepository, archive: Archive, options: SourceOptions, is_adapter: bool
) -> Resolved:
    sizes = list_archive(archive.path, checkpoint.repo, options)
    folder = top_folder(sizes)
    inside = {
        name.removeprefix(folder): size
        for name, size in sizes.items()
        if name.startswith(folder) and not is_ballast(name)
    }
    names = select(checkpoint, inside, is_adapter=is_adapter)
    code = () if is_adapter else select_code(inside)
    files = tuple(
        SourceFile(path=name, size_bytes=inside[name], is_code=name in code)
        for name in (*names, *code)
    )
    return Resolved(
        checkpoint=checkpoint,
        commit=archive.sha256,
        files=files,
        archive=archive.path,
        archive_folder=folder,
    )

"""Checkpoints in folders that the operator has opened."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from controlplane.artifacts.digests import FileEntry, read_chunks
from controlplane.artifacts.durable import means_disk_full
from controlplane.domain.failures.registry import local_folders
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import failures
from controlplane.sources.failures import SourceFailure
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
    is_adapter: bool = False,
) -> Resolved:
    """Return the folder's files, pinned by a digest of their names, sizes and times.

    Of its own Python by content: a time is easily set back, and a grant to run it names this.
    """
    roots = [Path(root).resolve() for root in options.local_checkpoint_roots]
    folder = _find_folder(checkpoint.repo, options.local_checkpoint_roots)
    _check_inside(folder, roots, checkpoint.repo, options.local_checkpoint_roots)
    try:
        listed = _list_names(folder)
        names = select(checkpoint, listed, is_adapter=is_adapter)
        code = () if is_adapter else select_code(listed)
        files = (
            *(_source_file(folder, name, roots, options) for name in names),
            *(_code_file(folder, name, roots, options) for name in code),
        )
    except PermissionError as error:
        raise SourceFailure.of(
            local_folders.UNREADABLE, path=str(error.filename), reason="permission is denied"
        ) from error
    digest = _digest(files)
    if commit is not None and commit != digest:
        raise failures.gone_commit(checkpoint, commit, digest)
    return Resolved(checkpoint=checkpoint, commit=digest, files=files, folder=folder)


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    """Return the files, copied to `destination`.

    Copies, not links: a trainer that saves into its folder again would write through a link, into
    the published artifact and the memory of the engines that serve it.
    """
    destination.mkdir(parents=True, exist_ok=True)
    check_room(resolved.checkpoint, destination, resolved.size_bytes)
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        on_progress(done, resolved.size_bytes)

    return tuple(
        _copy(resolved.checkpoint, file, destination, add, look) for file in resolved.files
    )


class FolderReader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str, start: int, end: int) -> bytes:
        with (self._folder / path).open("rb") as file:
            file.seek(start)
            return file.read(end - start)


def _find_folder(repo: str, roots: Sequence[str]) -> Path:
    """Return the real folder behind an absolute path, or one below the first root that has it."""
    given = Path(repo).expanduser()
    candidates = [given] if given.is_absolute() else [Path(root) / given for root in roots]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate.resolve()
    if given.is_absolute():
        # Whether a path exists is nobody's business outside the open folders.
        real = [Path(root).resolve() for root in roots]
        _check_inside(given.resolve(), real, repo, roots)
        raise failures.missing_folder(repo, ())
    if not roots:
        raise failures.outside_roots(repo, roots)
    raise failures.missing_folder(repo, roots)


def _check_inside(path: Path, roots: Sequence[Path], named: str, shown: Sequence[str]) -> None:
    if not any(path.is_relative_to(root) for root in roots):
        raise failures.outside_roots(named, shown)


def _list_names(folder: Path) -> list[str]:
    """Return the paths of the files at the top and one level below: no runtime looks deeper."""
    names = []
    for entry in os.scandir(folder):
        if entry.is_file():
            names.append(entry.name)
        elif entry.is_dir() and not entry.name.startswith("."):
            names += [f"{entry.name}/{each.name}" for each in os.scandir(entry) if each.is_file()]
    return names


def _source_file(
    folder: Path, name: str, roots: Sequence[Path], options: SourceOptions
) -> SourceFile:
    path = (folder / name).resolve()
    _check_inside(path, roots, f"{folder / name}", options.local_checkpoint_roots)
    if not os.access(path, os.R_OK):
        raise SourceFailure.of(
            local_folders.UNREADABLE, path=str(path), reason="permission is denied"
        )
    state = path.stat()
    return SourceFile(
        path=name, size_bytes=state.st_size, modified_ns=state.st_mtime_ns, real_path=path
    )


def _code_file(
    folder: Path, name: str, roots: Sequence[Path], options: SourceOptions
) -> SourceFile:
    file = _source_file(folder, name, roots, options)
    assert file.real_path is not None
    with _open_real(file.real_path) as reader:
        digest = hashlib.sha256()
        for chunk in read_chunks(reader):
            digest.update(chunk)
    return replace(file, sha256=digest.hexdigest(), is_code=True)


def _digest(files: Sequence[SourceFile]) -> str:
    seen = [(file.path, file.size_bytes, file.sha256 or file.modified_ns) for file in files]
    return f"local-{hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:40]}"


def _copy(
    checkpoint: CheckpointRepository,
    file: SourceFile,
    destination: Path,
    on_bytes: Callable[[int], None],
    look: Looks,
) -> FileEntry:
    source = file.real_path
    assert source is not None
    target = destination / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, looking = hashlib.sha256(), look(file.path)
    try:
        with _open_real(source) as reader, target.open("wb") as writer:
            _check_unchanged(source, reader, file)
            for chunk in read_chunks(reader):
                digest.update(chunk)
                if looking is not None:
                    looking.update(chunk)
                writer.write(chunk)
                on_bytes(len(chunk))
            _check_unchanged(source, reader, file)
    except OSError as error:
        raise _explained(error, checkpoint, source, destination) from error
    if file.sha256 not in (None, digest.hexdigest()):
        raise SourceFailure.of(local_folders.CHANGED_MEANWHILE, path=str(source))
    return FileEntry(path=file.path, size_bytes=file.size_bytes, sha256=digest.hexdigest())


def _open_real(path: Path) -> BinaryIO:
    # The path was found inside the roots: a link put there since must not be followed.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _check_unchanged(source: Path, reader: BinaryIO, file: SourceFile) -> None:
    state = os.fstat(reader.fileno())
    if (state.st_size, state.st_mtime_ns) != (file.size_bytes, file.modified_ns):
        raise SourceFailure.of(local_folders.CHANGED_MEANWHILE, path=str(source))


def _explained(
    error: OSError, checkpoint: CheckpointRepository, source: Path, destination: Path
) -> SourceFailure:
    if means_disk_full(error):
        return failures.disk_full(checkpoint, os.fspath(destination))
    if error.errno in {errno.ENOENT, errno.ELOOP}:  # gone, or a link now
        return SourceFailure.of(local_folders.CHANGED_MEANWHILE, path=str(source))
    return SourceFailure.of(
        local_folders.UNREADABLE, path=str(source), reason=error.strerror or str(error)
    )

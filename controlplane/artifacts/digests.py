"""Digests of files, of folders and of everything that decides what a build makes."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.registry import artifacts
from controlplane.domain.storable import is_storable, spelled

CHUNK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    path: str
    size_bytes: int
    sha256: str


def ignore_bytes(_count: int) -> None:
    """Take a byte count from a caller that shows no progress."""


def describe(
    directory: Path, on_bytes: Callable[[int], None] = ignore_bytes
) -> tuple[FileEntry, ...]:
    """Return every file under `directory` with its size and sha256, by path."""
    return tuple(
        FileEntry(path=path, size_bytes=size, sha256=hash_file(directory / path, on_bytes))
        for path, size in list_files(directory)
    )


def list_files(directory: Path) -> list[tuple[str, int]]:
    """Return the path and size of every file under `directory`; links and devices are refused."""
    files = []
    for parent, folders, names in os.walk(directory):
        for name in [*names, *folders]:
            path = Path(parent) / name
            relative = path.relative_to(directory).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                files.append((checked_path(relative), path.lstat().st_size))
            elif not stat.S_ISDIR(mode):
                raise ArtifactFailure.of(
                    artifacts.NAME, name=relative, reason="is a link or a device, not a plain file"
                )
    return sorted(files)


def checked_path(name: str) -> str:
    """Return `name` when it is a plain relative path that stays inside its folder."""
    if not is_storable(name):
        raise ArtifactFailure.of(artifacts.NAME, name=spelled(name), reason="is not text in UTF-8")
    path = PurePosixPath(name)
    if not name or path.is_absolute() or path.as_posix() != name:
        raise ArtifactFailure.of(artifacts.NAME, name=name, reason="is not a plain relative path")
    if ".." in path.parts or "\\" in name or any(ord(letter) < 32 for letter in name):
        raise ArtifactFailure.of(artifacts.NAME, name=name, reason="could lead outside the folder")
    return name


def hash_file(path: Path, on_bytes: Callable[[int], None] = ignore_bytes) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in read_chunks(file):
            digest.update(chunk)
            on_bytes(len(chunk))
    return digest.hexdigest()


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def content_digest(files: Iterable[FileEntry]) -> str:
    lines = sorted((each.path, each.size_bytes, each.sha256) for each in files)
    return _sha256_of(lines)


def input_document(
    commit: str,
    spec: Mapping[str, Any],
    tool_versions: Mapping[str, str | None],
    calibration: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    adapters: Sequence[Mapping[str, Any]] | None = None,
    remote_code: Sequence[Mapping[str, Any]] | None = None,
    tasks: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return everything that decides what a build makes, and what its gate says of it.

    `calibration` and `evaluation` name a data set and its revision, of a build that uses one;
    `adapters` the commit of each adapter; `remote_code` the checkpoint's Python, where it runs;
    `tasks` the questions of the gate's tasks.
    """
    inputs = {"commit": commit, "spec": spec, "tool_versions": tool_versions}
    data = {
        "calibration": calibration,
        "evaluation": evaluation,
        "adapters": adapters or None,
        "remote_code": remote_code or None,
        "tasks": tasks or None,
    }
    return inputs | {name: value for name, value in data.items() if value is not None}


def input_digest(inputs: Mapping[str, Any]) -> str:
    """Return the reuse key of an input document: equal inputs make equal artifacts."""
    return _sha256_of(inputs)


def _sha256_of(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

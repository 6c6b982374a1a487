"""A step's output folder: sealed by the child, published by the supervisor, verified on retry."""

import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controlplane.artifacts.digests import FileEntry, hash_file, list_files
from controlplane.artifacts.durable import sync_directory, sync_file, write_atomically
from controlplane.artifacts.failures import ArtifactFailure

MANIFEST = "manifest.json"
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Output:
    step: str
    values: dict[str, Any]
    files: tuple[FileEntry, ...]


class UnsealedOutput(Exception):
    """The folder has no manifest that can be read, so it is no step's output."""


def seal(
    directory: Path, *, step: str, values: Mapping[str, Any], digests: Mapping[str, str]
) -> Output:
    """Write the manifest once every file is on the disk; `digests` spares hashing known ones."""
    files = tuple(
        FileEntry(
            path=path,
            size_bytes=size,
            sha256=digests.get(path) or hash_file(directory / path),
        )
        for path, size in list_files(directory)
        if path != MANIFEST
    )
    for file in files:
        sync_file(directory / file.path)
    for folder in {(directory / file.path).parent for file in files}:
        sync_directory(folder)
    stored = {
        "format": _FORMAT,
        "step": step,
        "values": values,
        "files": [asdict(file) for file in files],
    }
    write_atomically(directory / MANIFEST, json.dumps(stored, indent=1).encode())
    return Output(step=step, values=dict(values), files=files)


def publish(output_dir: Path, final_dir: Path) -> Output:
    """Give a sealed folder its final name, in one step; return what it holds.

    What lies there already is replaced: it did not verify, or the step would not have run.
    """
    output = read(output_dir)
    final_dir.parent.mkdir(parents=True, exist_ok=True)
    aside = final_dir.with_name(f".{final_dir.name}.{uuid.uuid4().hex}")
    if final_dir.exists():
        final_dir.rename(aside)
    output_dir.rename(final_dir)
    sync_directory(final_dir.parent)
    shutil.rmtree(aside, ignore_errors=True)
    return output


def read(final_dir: Path) -> Output:
    """Return what a sealed or published folder says it holds; raises UnsealedOutput."""
    try:
        stored = json.loads((final_dir / MANIFEST).read_bytes())
        if stored["format"] != _FORMAT:
            raise UnsealedOutput(f"{final_dir}: manifest format `{stored['format']}`")
        return Output(
            step=stored["step"],
            values=stored["values"],
            files=tuple(FileEntry(**each) for each in stored["files"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnsealedOutput(f"{final_dir}: {error}") from error


def verify(final_dir: Path, beat: Callable[[], None] = lambda: None) -> bool:
    """Return whether the folder holds exactly what was published, byte for byte.

    `beat` is called every few megabytes, for a caller that has a lease to renew.
    """
    try:
        return not differing_files(final_dir, beat)
    except UnsealedOutput:
        return False


def size_of(directory: Path) -> int:
    """Return the bytes of all files in a folder, sealed or not; none where it is gone."""
    return sum(
        (Path(parent) / name).lstat().st_size
        for parent, _folders, names in os.walk(directory)
        for name in names
    )


def differing_files(final_dir: Path, beat: Callable[[], None] = lambda: None) -> list[str]:
    """Return the names of files that are missing, new or changed since they were published."""
    expected = {(each.path, each.size_bytes): each.sha256 for each in read(final_dir).files}
    try:
        listed = [each for each in list_files(final_dir) if each[0] != MANIFEST]
    except ArtifactFailure as failure:
        return [str(failure)]
    wrong = {path for path, _ in set(listed) ^ set(expected)}
    for path, size in set(listed) & set(expected):
        if hash_file(final_dir / path, lambda _count: beat()) != expected[path, size]:
            wrong.add(path)
    return sorted(wrong)

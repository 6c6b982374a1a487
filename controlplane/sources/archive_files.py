"""The files of an archive on this machine: listed, read in part, unpacked. Nothing is followed."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from controlplane.artifacts.digests import CHUNK_BYTES, FileEntry
from controlplane.domain.failures.registry import archives
from controlplane.sources.archive_failures import archive_failure
from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.tar_stream import (
    BadArchive,
    ByteSource,
    Member,
    TarLimits,
    TooLarge,
    UnsafeArchive,
    members,
)

GZIP = b"\x1f\x8b"
_OTHERS = {
    b"PK": "it is a zip file",
    b"BZ": "it is packed with bzip2",
    b"\xfd7": "it is packed with xz",
    b"\x28\xb5": "it is packed with zstandard",
    b"<!": "it is a web page",
    b"<h": "it is a web page",
}
_ALWAYS_THERE = "config.json"


class PlainBytes:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, count: int) -> bytes:
        return self._file.read(count)

    def skip(self, count: int) -> None:
        self._file.seek(count, 1)


class UnpackedBytes:
    """A file packed with gzip, or any other that can only be read from front to back."""

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file

    def read(self, count: int) -> bytes:
        return self._file.read(count)

    def skip(self, count: int) -> None:
        while count and (content := self._file.read(min(count, CHUNK_BYTES))):
            count -= len(content)


def list_archive(path: Path, url: str, options: SourceOptions) -> dict[str, int]:
    with in_words(url), _opened(path, url) as source:
        limits = limits_of(path.stat().st_size, options)
        return {each.name: each.size_bytes for each in members(source, limits)}


def unpack(
    path: Path,
    url: str,
    paths: Mapping[str, str],
    destination: Path,
    *,
    options: SourceOptions,
    on_bytes: Callable[[int], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    """Return the files now in `destination`; `paths` maps names in the archive to paths there."""
    with in_words(url), _opened(path, url) as source:
        limits = limits_of(path.stat().st_size, options)
        written = [
            _write(member, paths[member.name], destination, on_bytes, look)
            for member in members(source, limits)
            if member.name in paths
        ]
    return tuple(sorted(written, key=lambda each: each.path))


def limits_of(archive_bytes: int, options: SourceOptions) -> TarLimits:
    grown = int(archive_bytes * options.archive_growth)
    return TarLimits(
        files=options.archive_files, unpacked_bytes=max(grown, options.archive_small_bytes)
    )


def top_folder(names: Iterable[str]) -> str:
    """Return the folder (with a slash at its end) that holds everything, empty for the top."""
    kept = [each for each in names if not is_ballast(each)]
    folder = ""
    while kept and f"{folder}{_ALWAYS_THERE}" not in kept:
        firsts = {each.removeprefix(folder).partition("/")[::2] for each in kept}
        steps = {first for first, _ in firsts}
        if len(steps) != 1 or any(not rest for _, rest in firsts):
            break
        folder = f"{folder}{steps.pop()}/"
    return folder


def is_ballast(name: str) -> bool:
    return any(
        each.startswith("._") or each in ("__MACOSX", ".DS_Store") for each in name.split("/")
    )


def check_kind(start: bytes, url: str) -> None:
    """Raise SourceFailure when an archive begins like something that is neither tar nor gzip."""
    for magic, reason in _OTHERS.items():
        if start.startswith(magic):
            raise archive_failure(archives.NOT_AN_ARCHIVE, url, reason=reason)


@contextmanager
def in_words(url: str) -> Iterator[None]:
    try:
        yield
    except (BadArchive, EOFError, gzip.BadGzipFile, zlib.error) as error:
        packed = "its compressed data is damaged, or it was cut off"
        raise archive_failure(
            archives.NOT_AN_ARCHIVE,
            url,
            reason=str(error) if isinstance(error, BadArchive) else packed,
        ) from None
    except UnsafeArchive as error:
        raise archive_failure(archives.UNSAFE, url, reason=str(error)) from None
    except TooLarge as error:
        raise archive_failure(archives.TOO_LARGE, url, reason=str(error)) from None


@contextmanager
def _opened(path: Path, url: str) -> Iterator[ByteSource]:
    with path.open("rb") as file:
        start = file.read(2)
        file.seek(0)
        check_kind(start, url)
        if start == GZIP:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield UnpackedBytes(unpacked)
        else:
            yield PlainBytes(file)


def _write(
    member: Member,
    name: str,
    destination: Path,
    on_bytes: Callable[[int], None],
    look: Looks,
) -> FileEntry:
    target = destination / name
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, looking = hashlib.sha256(), look(name)
    # A file that is there already would be written through, were it a link.
    with target.open("xb") as file:
        while content := member.read(CHUNK_BYTES):
            digest.update(content)
            if looking is not None:
                looking.update(content)
            file.write(content)
            on_bytes(len(content))
    return FileEntry(path=name, size_bytes=member.size_bytes, sha256=digest.hexdigest())

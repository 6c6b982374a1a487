"""Reading of tar archives by strangers: plain files and folders, and nothing that could do harm.

`tarfile` is made for archives of one's own: it follows sizes into memory and knows links, devices
and sparse files. Here only its parser of headers is used.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from controlplane.artifacts.digests import checked_path
from controlplane.artifacts.failures import ArtifactFailure

_BLOCK = tarfile.BLOCKSIZE
_LARGEST_EXTENDED_HEADER = 1024 * 1024
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_REFUSED = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class BadArchive(Exception):
    """The archive is damaged, or of another form than tar."""


class UnsafeArchive(Exception):
    """The archive holds something that must not be unpacked."""


class TooLarge(Exception):
    """The archive unpacks to more than it may."""


class ByteSource(Protocol):
    """The unpacked bytes of an archive, from front to back."""

    def read(self, count: int) -> bytes:
        """Return that many bytes, fewer only at the end."""

    def skip(self, count: int) -> None:
        """Go on behind that many bytes."""


@dataclass(frozen=True, kw_only=True)
class TarLimits:
    files: int
    unpacked_bytes: int


class Member:
    """A file of an archive; its bytes can be read until the next one is asked for."""

    def __init__(self, source: ByteSource, name: str, size_bytes: int) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self._source = source
        self._left = size_bytes

    def read(self, count: int) -> bytes:
        """Return the next bytes, at most `count` and none at the end."""
        read_bytes = min(count, self._left)
        content = self._source.read(read_bytes) if read_bytes else b""
        if len(content) < read_bytes:
            raise BadArchive(f"it ends in the middle of `{self.name}`")
        self._left -= read_bytes
        return content

    def pass_over(self) -> None:
        """Go on behind what is left of the file and its padding."""
        self._source.skip(self._left + -self.size_bytes % _BLOCK)
        self._left = 0


def members(source: ByteSource, limits: TarLimits) -> Iterator[Member]:
    """Return the files of an archive, each name plain and once, in their order."""
    seen: set[str] = set()
    total = 0
    for name, size in _headers(source):
        if name in seen:
            raise UnsafeArchive(f"holds `{name}` twice")
        seen.add(name)
        total += size
        if len(seen) > limits.files:
            raise TooLarge(f"more than {limits.files:,} files")
        if total > limits.unpacked_bytes:
            raise TooLarge(f"more than {limits.unpacked_bytes / 1e9:,.2f} GB")
        member = Member(source, name, size)
        yield member
        member.pass_over()


def _headers(source: ByteSource) -> Iterator[tuple[str, int]]:
    """Return name and size of every plain file, the source standing before its bytes."""
    extended: dict[str, str] = {}
    while (header := _header(source)) is not None:
        if header.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            extended |= _pax(_extension(source, header))
        elif header.type == tarfile.GNUTYPE_LONGNAME:
            extended["path"] = _text(_extension(source, header).rstrip(b"\0"))
        elif header.type in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
            _extension(source, header)
        else:
            entry = _entry(header, extended)
            extended = {}
            if entry is not None:
                yield entry


def _header(source: ByteSource) -> tarfile.TarInfo | None:
    block = source.read(_BLOCK)
    if block == bytes(_BLOCK):
        return None
    if len(block) < _BLOCK:
        # Every archiver writes an end: without it files may be missing.
        raise BadArchive("it was cut off" if block else "it has no end, so it was cut off")
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError as error:
        raise BadArchive("it is no tar archive, or damaged") from error
    if header.size < 0:
        raise BadArchive("a file has a negative size")
    return header


def _entry(header: tarfile.TarInfo, extended: dict[str, str]) -> tuple[str, int] | None:
    """Return name and size of a plain file, or None for a folder."""
    given = extended.get("path", header.name)
    if header.type in _REFUSED:
        raise UnsafeArchive(f"holds `{_shown(given)}`, which is {_REFUSED[header.type]}")
    if any(each.startswith("GNU.sparse") for each in extended):
        raise UnsafeArchive(f"holds `{_shown(given)}`, which is a sparse file")
    size = _size(extended["size"]) if "size" in extended else header.size
    if header.type == tarfile.DIRTYPE:
        _plain_name(given.rstrip("/") or given)
        if size:
            raise UnsafeArchive(f"holds the folder `{_shown(given)}` with content of its own")
        return None
    if header.type not in _PLAIN:
        raise UnsafeArchive(f"holds `{_shown(given)}`, which is no plain file")
    name = _plain_name(given)
    if name is None:
        raise UnsafeArchive(f"holds a file named `{_shown(given)}`")
    return name, size


def _plain_name(given: str) -> str | None:
    """Return the name without leading `./`, or None where nothing is left of it."""
    name = given.removeprefix("./")
    if name in ("", "."):
        return None
    try:
        name.encode()
        return checked_path(name)
    except (ArtifactFailure, UnicodeEncodeError):
        shown = _shown(given)
        raise UnsafeArchive(f"holds `{shown}`, which could lead outside its folder") from None


def _extension(source: ByteSource, header: tarfile.TarInfo) -> bytes:
    if header.size > _LARGEST_EXTENDED_HEADER:
        raise UnsafeArchive("has a header larger than any name needs")
    content = source.read(header.size)
    if len(content) < header.size:
        raise BadArchive("it ends in the middle of a header")
    source.skip(-header.size % _BLOCK)
    return content


def _pax(content: bytes) -> dict[str, str]:
    """Return the records of an extended header, each `length name=value`."""
    fields = {}
    while content and content[0] != 0:
        digits, _, _ = content.partition(b" ")
        length = _size(_text(digits))
        record = content[len(digits) + 1 : length]
        name, equals, value = record.rstrip(b"\n").partition(b"=")
        if length <= len(digits) + 1 or length > len(content) or not equals:
            raise BadArchive("an extended header is damaged")
        fields[_text(name)] = _text(value)
        content = content[length:]
    return fields


def _size(digits: str) -> int:
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise BadArchive("an extended header is damaged")
    return int(digits)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _shown(name: str) -> str:
    """Return a name that can be printed, whatever it holds."""
    return name[:200].encode("ascii", "backslashreplace").decode()

"""Facts of an archive from its beginning: read as it arrives, never stored."""

import gzip
import io
import struct
from contextlib import ExitStack
from typing import BinaryIO, cast

import httpx2

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import shown
from controlplane.sources.address_http import HTTP_ERRORS
from controlplane.sources.archive_download import Version
from controlplane.sources.archive_failures import late_config
from controlplane.sources.archive_files import (
    GZIP,
    UnpackedBytes,
    check_kind,
    in_words,
    is_ballast,
    limits_of,
    top_folder,
)
from controlplane.sources.archive_http import explain, opened
from controlplane.sources.facts import facts_of
from controlplane.sources.options import SourceOptions
from controlplane.sources.selection import select
from controlplane.sources.tar_stream import BadArchive, ByteSource, Member, members

_READ_WHOLE = (".json", ".jinja")
_NOT_FOR_FACTS = ("tokenizer.json", "vocab.json", "added_tokens.json")
_LARGEST_KEPT_BYTES = 64 * 1024 * 1024
_LARGEST_SMALL_FILE_BYTES = 32 * 1024 * 1024
_LARGEST_HEADER_BYTES = 100_000_000
# Shorter stretches are read and thrown away: a new request costs more.
_WORTH_A_REQUEST_BYTES = 1024 * 1024


class _Spent(Exception):
    """As much was read as may be read for facts."""


def peek(checkpoint: CheckpointRepository, options: SourceOptions) -> CheckpointFacts:
    """Return what the front of an archive says of the checkpoint in it. Raises SourceFailure."""
    url = checkpoint.repo
    seen = _Seen()
    with ExitStack() as stack:
        raw = _Arriving(stack, url, options)
        try:
            with in_words(url):
                raw.open()
                _read(seen, raw, options)
            is_complete = True
        except _Spent:
            is_complete = False
        except HTTP_ERRORS as error:
            raise explain(error, url) from None
    return _facts(checkpoint, seen, raw, is_complete=is_complete)


def _facts(
    checkpoint: CheckpointRepository, seen: "_Seen", raw: "_Arriving", *, is_complete: bool
) -> CheckpointFacts:
    folder = top_folder(seen.sizes)
    inside = {
        name.removeprefix(folder): size
        for name, size in seen.sizes.items()
        if name.startswith(folder) and not is_ballast(name)
    }
    if is_complete:
        inside = {name: inside[name] for name in select(checkpoint, inside)}
    elif "config.json" not in inside:
        raise late_config(checkpoint.repo, raw.read_bytes)
    return facts_of(
        seen.in_folder(folder),
        list(inside.items()),
        commit=raw.version.name,
        name=shown(checkpoint.repo),
        is_complete=is_complete,
    )


def _read(seen: "_Seen", raw: "_Arriving", options: SourceOptions) -> None:
    start = raw.peek(2)
    check_kind(start, raw.url)
    source: ByteSource = raw
    if start == GZIP:
        source = UnpackedBytes(gzip.GzipFile(fileobj=cast("BinaryIO", raw)))
    limits = limits_of(raw.whole_bytes or options.archive_peek_bytes, options)
    for member in members(source, limits):
        seen.take(member)
        left = options.archive_peek_bytes - raw.read_bytes
        if member.size_bytes > left and not raw.can_jump(start):
            raise _Spent


class _Seen:
    """The files met so far, and the beginnings of those that facts come from."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._starts: dict[str, bytes] = {}
        self._folder = ""
        self._kept_bytes = 0

    def take(self, member: Member) -> None:
        self.sizes[member.name] = member.size_bytes
        if member.name.endswith(".safetensors"):
            start = member.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            self._starts[member.name] = start + _read_up_to(
                member, min(length, _LARGEST_HEADER_BYTES)
            )
        elif self._is_wanted(member):
            self._kept_bytes += member.size_bytes
            self._starts[member.name] = _read_up_to(member, member.size_bytes)

    def _is_wanted(self, member: Member) -> bool:
        return (
            member.name.endswith(_READ_WHOLE)
            and not member.name.endswith(_NOT_FOR_FACTS)
            and member.size_bytes <= _LARGEST_SMALL_FILE_BYTES
            and self._kept_bytes + member.size_bytes <= _LARGEST_KEPT_BYTES
        )

    def in_folder(self, folder: str) -> "_Seen":
        """Return the same files, read by their names in a folder."""
        self._folder = folder
        return self

    def read(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, as far as they were read."""
        return self._starts.get(f"{self._folder}{path}", b"")[start:end]


class _Arriving:
    """The bytes of an archive as the server sends them, within what may be read for facts."""

    def __init__(self, stack: ExitStack, url: str, options: SourceOptions) -> None:
        self.url = url
        self.read_bytes = 0
        self.whole_bytes: int | None = None
        self._stack = stack
        self._options = options
        self._deadline = options.clock.monotonic() + options.archive_peek_seconds
        self._position = 0
        self._buffer = b""
        self.version = Version(etag=None, modified=None, size_bytes=None)
        self._is_first = True
        self._has_ranges = False

    def open(self) -> None:
        self._stack.close()
        headers = {"range": f"bytes={self._position}-"}
        if self.version.validator:
            headers["if-range"] = self.version.validator
        response = self._stack.enter_context(
            opened(self.url, headers=headers, options=self._options)
        )
        self._buffer = b""
        self._chunks = response.iter_raw()
        self._note(response)

    def can_jump(self, start: bytes) -> bool:
        """Return whether the inside of a file need not be sent."""
        return start != GZIP and self._has_ranges

    def peek(self, count: int) -> bytes:
        """Return the next bytes without going on."""
        content = self.read(count)
        self._position -= len(content)
        self._buffer = content + self._buffer
        return content

    def read(self, count: int) -> bytes:
        """Return that many bytes, fewer only at the end."""
        content = io.BytesIO()
        content.write(self._buffer[:count])
        self._buffer = self._buffer[count:]
        while content.tell() < count and (chunk := next(self._chunks, b"")):
            self._spend(len(chunk))
            taken = count - content.tell()
            content.write(chunk[:taken])
            self._buffer = chunk[taken:]
        self._position += content.tell()
        return content.getvalue()

    def skip(self, count: int) -> None:
        if count > len(self._buffer) + _WORTH_A_REQUEST_BYTES and self._has_ranges:
            self._position += count
            self.open()
            return
        while count and (content := self.read(min(count, _WORTH_A_REQUEST_BYTES))):
            count -= len(content)

    def _spend(self, count: int) -> None:
        self.read_bytes += count
        is_late = self._options.clock.monotonic() > self._deadline
        if self.read_bytes > self._options.archive_peek_bytes or is_late:
            raise _Spent

    def _note(self, response: httpx2.Response) -> None:
        if response.status_code == 416:
            raise BadArchive("it is empty" if self._is_first else "it was cut off")
        version = Version.of(response)
        if not self._is_first and response.status_code != 206:
            raise _Spent  # the archive became another one, or the ranges ended: no more is known
        self.version, self._is_first = version, False
        self.whole_bytes = version.size_bytes
        self._has_ranges = response.status_code == 206 and version.validator is not None


def _read_up_to(member: Member, count: int) -> bytes:
    return member.read(count) if count else b""

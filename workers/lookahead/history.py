"""What other requests of the same tenant said, for drafts of the next one."""

import os
from pathlib import Path
from threading import Lock
from typing import Final, Self

import numpy as np

from workers.lookahead.layout import HEADER_LENGTH, Block, Header, block_length
from workers.lookahead.token_index import SHARED_LENGTHS, TokenIndex, Tokens

DEFAULT_CAPACITY_TOKENS: Final = 10_000_000
MARK: Final = b"lookahead hist 2"
"""What a saved history begins with; the number is that of its format."""
_HEADER_BYTES: Final = 8 * HEADER_LENGTH
_BLOCK_START: Final = len(MARK) + _HEADER_BYTES


class HistoryUnreadableError(ValueError):
    """A saved history that cannot be used, and why."""


class SharedHistory:
    """Documents of up to `capacity` tokens in all; the oldest tokens are written over.

    One writer at a time, readers beside it: what a reader finds is compared token by token. Who may
    share one is decided by whoever keeps it: a draft never changes an answer, but the time that it
    saves can tell that a text exists.
    """

    def __init__(self, index: TokenIndex) -> None:
        self.index = index
        self._writing = Lock()

    @classmethod
    def empty(cls, capacity_tokens: int = DEFAULT_CAPACITY_TOKENS) -> Self:
        return cls(TokenIndex.empty(capacity_tokens, SHARED_LENGTHS))

    def add(self, document: Tokens) -> None:
        """Add a document behind a border that no draft crosses."""
        with self._writing:
            self.index.append(document)
            self.index.separate()

    def save(self, file: Path) -> None:
        """Write it beside `file`, down to the disk, then rename: what is there is old or new."""
        new = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            with self._writing, new.open("wb") as written:
                written.write(MARK + self.index.header.tobytes())
                written.write(self.index.block.data)
                written.flush()
                os.fsync(written.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
        _sync(file.parent)

    @classmethod
    def load(cls, file: Path, *, mapped: bool = False) -> Self:
        """Return a saved history; `mapped`: processes share its pages until one of them writes.

        Raises:
            HistoryUnreadableError: It is not there, of another format, or cut short.
        """
        try:
            header = _header_in(file)
            block = _mapped(file) if mapped else np.fromfile(file, np.int32, offset=_BLOCK_START)
        except (OSError, ValueError) as error:
            raise HistoryUnreadableError(
                f"{file} holds no history that can be read: {error}"
            ) from error
        if len(block) != block_length(header):
            raise HistoryUnreadableError(
                f"{file} holds {len(block)} numbers, and its header says {block_length(header)}"
            )
        return cls(TokenIndex(header, block))


def _mapped(file: Path) -> Block:
    return np.asarray(np.memmap(file, np.int32, mode="c", offset=_BLOCK_START))


def _header_in(file: Path) -> Header:
    with file.open("rb") as saved:
        mark, header = saved.read(len(MARK)), saved.read(_HEADER_BYTES)
    if mark != MARK:
        raise ValueError(f"it begins with {mark!r}, and this version reads {MARK!r}")
    if len(header) != _HEADER_BYTES:
        raise ValueError("it ends within its header")
    return np.frombuffer(header, np.int64).copy()


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

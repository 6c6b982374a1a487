"""What other requests of the same tenant said, for drafts of the next one."""

import json
import tempfile
from pathlib import Path
from threading import Lock
from typing import Final, Self

import numpy as np

from workers.lookahead.layout import HEADER_LENGTH, TOTAL, block_length
from workers.lookahead.token_index import SHARED_LENGTHS, TokenIndex, Tokens

DEFAULT_CAPACITY_TOKENS: Final = 10_000_000
FORMAT: Final = 1


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
        """Return a history of nothing."""
        return cls(TokenIndex.empty(capacity_tokens, SHARED_LENGTHS))

    def add(self, document: Tokens) -> None:
        """Add a document behind a border that no draft crosses."""
        with self._writing:
            self.index.append(document)
            self.index.separate()

    def save(self, folder: Path) -> None:
        """Write its arrays and their format, by rename: an interrupted save changes nothing."""
        with self._writing, tempfile.TemporaryDirectory(dir=folder.parent) as written:
            new = Path(written) / "history"
            new.mkdir()
            np.save(new / "header.npy", self.index.header)
            np.save(new / "block.npy", self.index.block)
            (new / "format.json").write_text(json.dumps({"format": FORMAT}))
            if folder.exists():
                folder.rename(Path(written) / "old")
            new.rename(folder)

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = False) -> Self:
        """Return a saved history; `mapped`: processes share its pages until one of them writes.

        Raises:
            HistoryUnreadableError: It is not there, of another format, or cut short.
        """
        try:
            _check_format(json.loads((folder / "format.json").read_text()))
            header = np.load(folder / "header.npy")
            block = np.load(folder / "block.npy", mmap_mode="c" if mapped else None)
        except (OSError, ValueError, EOFError) as error:
            raise HistoryUnreadableError(
                f"{folder} holds no history that can be read: {error}"
            ) from error
        _check_arrays(folder, header, block)
        return cls(TokenIndex(header, block))


def _check_format(stated: object) -> None:
    if not isinstance(stated, dict) or stated.get("format") != FORMAT:
        raise ValueError(f"its format is {stated!r}, and this version reads {FORMAT}")


def _check_arrays(folder: Path, header: np.ndarray, block: np.ndarray) -> None:
    is_whole = (
        header.shape == (HEADER_LENGTH,)
        and header.dtype == np.int64
        and block.dtype == np.int32
        and header[TOTAL] >= 0
        and block.shape == (block_length(header),)
    )
    if not is_whole:
        raise HistoryUnreadableError(f"{folder} holds arrays of another shape than its header says")

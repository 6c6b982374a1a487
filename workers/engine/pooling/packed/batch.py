"""Rows as one line of tokens on the device, and the way back to a table of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workers.engine.pooling.rows import Row

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Tokens of some rows, one row behind the other, the longest first."""

    rows: Sequence[Row]
    lengths: Sequence[int]
    ids: Numbers
    positions: Numbers
    types: Numbers

    @property
    def starts(self) -> Numbers:
        """The first token of each row, and the end of the last."""
        starts = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=starts[1:])
        return starts


def line_up(
    rows: Sequence[Row], *, has_types: bool = True, after_padding: int | None = None
) -> Line:
    """Give back the rows, which come longest first, as one line.

    `after_padding` is the padding token of a family that counts positions from it on, and gives
    it as the position of every padding token.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = _joined([row.ids for row in rows], int(lengths.sum()))
    types = np.zeros_like(ids)  # as all of a text by itself is
    if has_types and any(row.types for row in rows):
        types = _joined([row.types or (0,) * len(row) for row in rows], len(ids))
    if after_padding is None:
        positions = np.arange(len(ids)) - _first_of_row(lengths)
    else:
        is_text = ids != after_padding
        counted = np.cumsum(is_text)
        before = np.concatenate([[0], counted])[_first_of_row(lengths)]
        positions = (counted - before) * is_text + after_padding
    return Line(
        rows=rows, lengths=lengths.tolist(), ids=ids, positions=positions, types=types
    )  # fmt: skip


def tables(lengths: Sequence[int], most_tokens: int) -> Iterator[slice]:
    """Give back which rows share a padded table of at most so many tokens, or are one by itself."""
    first = 0
    while first < len(lengths):
        last = min(len(lengths), first + max(1, most_tokens // lengths[first]))
        yield slice(first, last)
        first = last


def places(lengths: Sequence[int]) -> Numbers:
    """Give back where each token of a line goes in a table as wide as its longest row."""
    each = np.asarray(lengths)
    within = np.arange(each.sum()) - _first_of_row(each)
    return within + np.repeat(np.arange(len(each)) * each.max(), each)


def as_table(tokens: Tensor, lengths: Sequence[int], places: Tensor, fill: Any = 0) -> Tensor:
    """Give back `[rows, longest, …]` of a line `[tokens, …]`."""
    rows, longest = len(lengths), max(lengths)
    if lengths[0] == lengths[-1]:  # of one length: the line is the table
        return tokens.unflatten(0, (rows, longest))
    table = torch.full(
        (rows * longest, *tokens.shape[1:]), fill, dtype=tokens.dtype, device=tokens.device
    )
    return table.index_copy_(0, places, tokens).unflatten(0, (rows, longest))


def _joined(parts: Sequence[Sequence[int]], count: int) -> Numbers:
    return np.fromiter(chain.from_iterable(parts), np.int64, count)


def _first_of_row(lengths: Numbers) -> Numbers:
    """For each token the place of its row's first."""
    return np.repeat(np.cumsum(lengths) - lengths, lengths)

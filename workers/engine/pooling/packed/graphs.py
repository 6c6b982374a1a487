"""CUDA graphs: a body's kernels for so many tokens, recorded once and then started by one call."""

import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.engine.pooling.packed.attention import Packing
from workers.engine.pooling.packed.body import Compute, Inputs

log = logging.getLogger(__name__)

LONGEST_ROW = 512
"""Attention is recorded for rows up to here; a forward with a longer one is bound by its work."""

TOKENS_A_ROW = 32
"""A graph has places for as many rows as it would have at this length; an unused one costs a few
blocks of attention that end at once."""

_LEAST_TOKENS = 32

MOST_FILLED = 2.0
"""A graph for more than so many times the tokens computes longer than kernels take to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    graph: torch.cuda.CUDAGraph
    hidden: Tensor


def sizes_up_to(most: int) -> list[int]:
    """Give back the numbers of tokens that are recorded, each at most a quarter above the last."""
    sizes, size = [], _LEAST_TOKENS
    while size < most:
        sizes.append(size)
        octave = 1 << (size.bit_length() - 1)
        size += max(octave // 4, 8)
    return [*sizes, most]


def fitting_size(sizes: Sequence[int], *, tokens: int, rows: int) -> int | None:
    """Give back the size that has room; none where there is none, or it is mostly filling."""
    place = bisect_left(sizes, max(tokens, rows * TOKENS_A_ROW))
    if place == len(sizes):
        return None
    is_mostly_filling = sizes[place] > max(_LEAST_TOKENS, MOST_FILLED * tokens)
    return None if is_mostly_filling else sizes[place]


class Graphs:
    """Records at the start, largest first, so that the others find its memory."""

    def __init__(
        self, compute: Compute, device: torch.device, *, tokens: int, longest: int
    ) -> None:
        self._compute = compute
        self._longest = min(longest, LONGEST_ROW)
        self._sizes = sizes_up_to(tokens)
        self._line = torch.zeros((3, tokens), dtype=torch.int64, device=device)
        self._starts = torch.zeros(_rows(tokens) + 1, dtype=torch.int32, device=device)
        self._recorded: dict[int, _Recorded] = {}

    def record(self) -> None:
        """Record every size; where the class does what no graph can hold, record none."""
        pool = torch.cuda.graph_pool_handle()
        try:
            self._run(self._sizes[-1])  # first by itself: libraries set themselves up
            for size in reversed(self._sizes):
                self._record(size, pool)
        except RuntimeError as error:
            self._recorded.clear()
            log.warning("no CUDA graphs, each forward starts its kernels itself: %s", error)

    def hidden(self, line: Tensor, starts: Tensor, lengths: Sequence[int]) -> Tensor | None:
        """Give back the hidden states of a line; none where no graph has room for it.

        They are overwritten by the next line. `line`: ids, positions, types.
        """
        tokens = line.shape[1]
        size = fitting_size(self._sizes, tokens=tokens, rows=len(lengths))
        if size is None or lengths[0] > self._longest or not self._recorded:
            return None
        self._line[:, :tokens].copy_(line, non_blocking=True)
        self._starts.fill_(tokens)
        self._starts[: len(starts)].copy_(starts, non_blocking=True)
        recorded = self._recorded[size]
        recorded.graph.replay()
        return recorded.hidden[:tokens]

    def _record(self, size: int, pool: tuple[int, int]) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            hidden = self._run(size)
        self._recorded[size] = _Recorded(graph=graph, hidden=hidden)

    def _run(self, size: int) -> Tensor:
        ids, positions, types = (each[None] for each in self._line[:, :size])
        packing = Packing(
            lengths=(), starts=self._starts[: _rows(size) + 1], longest=self._longest
        )  # fmt: skip
        return self._compute(Inputs(ids=ids, positions=positions, types=types), packing)


def _rows(size: int) -> int:
    return max(1, size // TOKENS_A_ROW)

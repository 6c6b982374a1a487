"""CUDA graphs: a body's kernels for so many tokens, recorded once and then started by one call."""

import itertools
import logging
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from workers.engine.pooling.packed.attention import Packing
from workers.engine.pooling.packed.body import Compute, Inputs

log = logging.getLogger(__name__)

LONGEST_ROW = 512
"""Attention is recorded for rows up to here; a forward with a longer one is bound by its work."""

_LEAST_TOKENS = 32

MOST_FILLED = 2.0
"""A graph for more than so many times the tokens computes longer than kernels take to start."""


class Form(NamedTuple):
    """For which rows a graph is recorded: attention starts blocks for each place and length."""

    tokens_a_row: int
    """A graph has places for as many rows as it would have at this length."""
    longest: int

    @property
    def waste(self) -> float:
        """Blocks of attention for a token, used or not; an unused one ends at once."""
        return math.ceil(self.longest / _BLOCK_TOKENS) / self.tokens_a_row


FORMS = (Form(96, 256), Form(32, LONGEST_ROW), Form(8, 128))
"""Texts of a usual length, of every length, and many short ones."""
_BLOCK_TOKENS = 128


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


def fitting(sizes: Sequence[int], lengths: Sequence[int]) -> tuple[int, Form] | None:
    """Give back the least size and form with room for rows, the longest first.

    None where there is none, or it is mostly filling.
    """
    tokens, candidates = sum(lengths), list[tuple[int, Form]]()
    for form in FORMS:
        room = len(lengths) * form.tokens_a_row if len(lengths) > 1 else 0
        place = bisect_left(sizes, max(tokens, room))
        if lengths[0] <= form.longest and place < len(sizes):
            candidates.append((sizes[place], form))
    best = min(candidates, key=lambda each: (each[0], each[1].waste), default=None)
    if best is None or best[0] > max(_LEAST_TOKENS, MOST_FILLED * tokens):
        return None
    return best


class Graphs:
    """Records at the start, largest first, so that the others find its memory."""

    def __init__(self, compute: Compute, device: torch.device, *, tokens: int) -> None:
        self._compute = compute
        self._sizes = sizes_up_to(tokens)
        self._line = torch.zeros((3, tokens), dtype=torch.int64, device=device)
        most_rows = max(_rows(tokens, form) for form in FORMS)
        self._starts = torch.zeros(most_rows + 1, dtype=torch.int32, device=device)
        self._recorded: dict[tuple[int, Form], _Recorded] = {}

    def record(self) -> None:
        """Record every size; where the class does what no graph can hold, record none."""
        pool = torch.cuda.graph_pool_handle()
        try:
            self._run(self._sizes[-1], FORMS[0])  # first by itself: libraries set themselves up
            for size, form in itertools.product(reversed(self._sizes), FORMS):
                self._record(size, form, pool)
        except RuntimeError as error:
            self._recorded.clear()
            log.warning("no CUDA graphs, each forward starts its kernels itself: %s", error)

    def hidden(self, line: Tensor, starts: Tensor, lengths: Sequence[int]) -> Tensor | None:
        """Give back the hidden states of a line; none where no graph has room for it.

        They are overwritten by the next line. `line`: ids, positions, types.
        """
        tokens = line.shape[1]
        which = fitting(self._sizes, lengths) if self._recorded else None
        if which is None:
            return None
        self._line[:, :tokens].copy_(line, non_blocking=True)
        self._starts.fill_(tokens)
        self._starts[: len(starts)].copy_(starts, non_blocking=True)
        recorded = self._recorded[which]
        recorded.graph.replay()
        return recorded.hidden[:tokens]

    def _record(self, size: int, form: Form, pool: tuple[int, int]) -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            hidden = self._run(size, form)
        self._recorded[size, form] = _Recorded(graph=graph, hidden=hidden)

    def _run(self, size: int, form: Form) -> Tensor:
        ids, positions, types = (each[None] for each in self._line[:, :size])
        packing = Packing(
            lengths=(), starts=self._starts[: _rows(size, form) + 1], longest=form.longest
        )  # fmt: skip
        return self._compute(Inputs(ids=ids, positions=positions, types=types), packing)


def _rows(size: int, form: Form) -> int:
    return max(1, size // form.tokens_a_row)

"""Texts on their way through the model."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text, or a pair of them, as the model reads it."""

    ids: Sequence[int]
    types: Sequence[int] | None = None
    """Which of a pair's texts each token belongs to."""
    offsets: Sequence[tuple[int, int]] = ()
    """Characters of the text that each token stands for."""
    special: Sequence[int] = ()
    """One for each token that stands for no text."""
    prompt_tokens: int = 0
    """Leading tokens that are left out of the pooled vector."""
    was_cut: bool = False

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    rows: Sequence[Row]
    arrived_at: float
    answer: "Future[list[Tensor]]" = field(default_factory=Future)
    outputs: dict[int, Tensor] = field(default_factory=dict)
    """By their rows' places, as they come."""

    @property
    def is_over(self) -> bool:
        return self.answer.done()

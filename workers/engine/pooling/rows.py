"""Texts on their way through the model."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

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

    def without(self, prompt_tokens: int) -> "Row":
        """Give back the row with a prompt that does not enter its vector."""
        return replace(self, prompt_tokens=prompt_tokens)


@dataclass(slots=True, kw_only=True)
class Request:
    """Rows that are answered together."""

    rows: Sequence[Row]
    answer: "Future[list[Tensor]]" = field(default_factory=Future)
    arrived_at: float
    outputs: list[Tensor | None] = field(default_factory=list)
    left: int = 0

    def __post_init__(self) -> None:
        self.outputs = [None] * len(self.rows)
        self.left = len(self.rows)

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the rest."""
        return self.answer.done()

    def take(self, index: int, output: Tensor) -> bool:
        """Keep a row's output; return whether that was the last one."""
        self.outputs[index] = output
        self.left -= 1
        return self.left == 0

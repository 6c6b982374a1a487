"""Drafts of the next tokens of an answer, for the model to verify in one forward."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Drafter(Protocol):
    """One row's source of drafts; a wrong one costs time and never changes an answer."""

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        """Give back up to `most` tokens that may follow `tokens`, which only ever grow."""

    def shorten(self, kept: int) -> None:
        """Take in that only so many of the last guesses are verified."""


MakeDrafter = Callable[[], Drafter]
"""What begins a drafter for each row."""

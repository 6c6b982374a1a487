"""Guesses the next tokens of an answer, for the model to verify in one forward."""

from collections.abc import Sequence
from typing import Protocol


class Drafter(Protocol):
    """One row's source of guesses; a wrong one costs time and never changes an answer."""

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        """Give back up to `most` tokens that may follow `tokens`, which only ever grow."""


class PromptLookup:
    """Proposes what followed the last place where the text's end stood before.

    A match of n tokens is worth a guess of `factor` times n; `ngram` bounds both.
    """

    def __init__(self, ngram: int, factor: int = 1) -> None:
        self._ngram = ngram
        self._factor = factor
        self._seen = 0
        self._ends: dict[tuple[int, ...], int] = {}  # n-gram -> where its latest place ends

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        """Give back what followed the longest suffix that occurred before."""
        for end in range(self._seen + 1, len(tokens)):  # the text's own end is no earlier place
            for size in range(1, min(self._ngram, end) + 1):
                self._ends[tuple(tokens[end - size : end])] = end
            self._seen = end
        for size in range(min(self._ngram, len(tokens)), 0, -1):
            end = self._ends.get(tuple(tokens[-size:]), 0)
            if end:
                return tokens[end : end + min(most, size * self._factor, self._ngram)]
        return ()

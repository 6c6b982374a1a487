"""Lookahead in the native engine: a drafter of the library for each row."""

from collections.abc import Sequence

from workers.engine.drafts import MakeDrafter
from workers.lookahead.drafter import Drafter
from workers.lookahead.rules import DraftRule

DOCUMENTED_FACTOR = 1


def drafters(ngram: int, factor: int) -> MakeDrafter:
    """Return what begins the drafter of a row, compiled."""
    rule = rule_of(ngram, factor)
    Drafter(rule).propose(0, [0, 0], 1)  # compiles, or loads what was compiled
    return lambda: RowDrafter(rule)


def rule_of(ngram: int, factor: int) -> DraftRule:
    """Return the documented rule for a factor of 1, and our own for a larger one."""
    if factor == DOCUMENTED_FACTOR:
        return DraftRule.documented(ngram)
    return DraftRule.own(ngram, factor)


class RowDrafter:
    """Drafts for one row from its own text."""

    def __init__(self, rule: DraftRule) -> None:
        self._drafter = Drafter(rule)
        self._seen = 0

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        """Return up to `most` tokens that may follow a text that has only grown."""
        new = tokens[self._seen :]
        self._seen = len(tokens)
        return self._drafter.propose(0, new, most)

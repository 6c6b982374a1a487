"""One row's drafter as the native engine has it: short drafts while few of them are accepted."""

from collections.abc import Sequence
from itertools import takewhile

from workers.lookahead.drafter import Drafter
from workers.lookahead.limits import AcceptanceGuard, EarnedCap
from workers.lookahead.rules import DraftRule

DOCUMENTED_FACTOR = 1


class RowDrafter:
    """Drafts for one row from its own text, shorter ones while few of them are accepted."""

    def __init__(self, rule: DraftRule, limit: AcceptanceGuard | EarnedCap) -> None:
        self._drafter = Drafter(rule)
        self._limit = limit
        self._draft: Sequence[int] = ()
        self._seen = 0

    def propose(self, tokens: Sequence[int], most: int) -> Sequence[int]:
        """Return up to `most` tokens that may follow a text that has only grown."""
        new = tokens[self._seen :]
        self._seen = len(tokens)
        self._limit.observe(len(self._draft), _agreeing(self._draft, new))
        self._draft = self._drafter.propose(0, new, min(most, self._limit.cap))
        return self._draft

    def shorten(self, kept: int) -> None:
        """Take in that a grammar allows only so many of the last draft: the rest failed nobody."""
        self._draft = self._draft[:kept]
        self._drafter.shorten(0, kept)


def row_drafter(ngram: int, factor: int, device: str = "cpu") -> RowDrafter:
    """Return a new row's drafter; the first that drafts compiles."""
    rule = rule_of(ngram, factor)
    limit = EarnedCap if device == "cpu" else AcceptanceGuard
    return RowDrafter(rule, limit(rule.longest_draft))


def rule_of(ngram: int, factor: int) -> DraftRule:
    """Return the documented rule for a factor of 1, and our own for a larger one."""
    if factor == DOCUMENTED_FACTOR:
        return DraftRule.documented(ngram)
    return DraftRule.own(ngram, factor)


def _agreeing(draft: Sequence[int], tokens: Sequence[int]) -> int:
    both = zip(draft, tokens, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))

"""How much is drafted from which place."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from workers.lookahead.drafting import RULE_LENGTH
from workers.lookahead.layout import Header

OWN_FACTOR: Final = 4
RESUME_TOKENS: Final = 16
TELLING_MATCH: Final = 32
"""Long enough to tell apart the places that end alike, though it asks for no longer draft."""
COPY_DRAFTS: Final = 3
LEAST_MATCH: Final = 2


@dataclass(frozen=True)
class DraftRule:
    """The settings of a drafter; lengths are tokens."""

    cap: int
    """The longest draft."""
    factor: int = 1
    """So many tokens are drafted for each token of the match."""
    match: int = 0
    """The longest match that is looked for; 0: what gives the longest draft."""
    chain: int = 256
    """Places of an n-gram that are looked at in the request's own text."""
    shared_chain: int = 64
    """And in the history of others."""
    is_anchored: bool = False
    """Between equal matches, take the one nearest to where the last copy went on."""
    resume: int = 0
    """The least draft from a place near the anchor, behind an edit."""
    copy_cap: int = 0
    """The longest draft once `copy_drafts` drafts in a row were accepted whole; 0: as `cap`."""
    copy_drafts: int = COPY_DRAFTS
    least_match: int = 1
    """A shorter match drafts nothing, but near the anchor."""

    @classmethod
    def documented(cls, ngram: int) -> Self:
        """Return the rule of the hosted product: k tokens for a match of k, both up to `ngram`.

        Source: "Lookahead decoding", dynamic length, windows and verification set of 1.
        """
        return cls(cap=ngram)

    @classmethod
    def own(cls, cap: int, factor: int = OWN_FACTOR, copy_cap: int = 0) -> Self:
        """Return the rule that drafts further and goes on where it copied last, after edits too."""
        return cls(
            cap=cap,
            factor=factor,
            match=max(TELLING_MATCH, -(-cap // factor)),
            is_anchored=True,
            resume=min(cap, RESUME_TOKENS),
            copy_cap=copy_cap,
        )

    @classmethod
    def filling(cls, cap: int) -> Self:
        """Return the rule for engines whose step costs as much for any draft: always the longest.

        Where little speaks for a match nothing is drafted: such a step costs more than a plain one.
        """
        return cls(
            cap=cap, factor=cap, match=TELLING_MATCH, is_anchored=True, resume=cap,
            least_match=LEAST_MATCH,
        )  # fmt: skip

    @property
    def longest_draft(self) -> int:
        return max(self.cap, self.copy_cap)

    def numbers(self) -> Header:
        """Return what the compiled step reads."""
        match = self.match or -(-self.cap // self.factor)
        numbers = (self.factor, self.cap, match, self.chain, self.shared_chain, self.is_anchored,
                   self.resume, self.copy_cap, self.copy_drafts, self.least_match)  # fmt: skip
        assert len(numbers) == RULE_LENGTH
        return np.array(numbers, dtype=np.int64)

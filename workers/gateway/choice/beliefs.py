"""What a replica is thought to have cached of a prompt, and what its engine says of that."""

from enum import StrEnum
from typing import NamedTuple

from workers.gateway.choice.prefix_uses import PrefixUses
from workers.gateway.choice.prompts import MOST_BLOCKS, Prompt
from workers.gateway.upstream import Upstream
from workers.gateway.usage import TokenCounts

LEAST_HELD = 0.5
"""Of what was expected: letters are no tokens, and engines keep whole blocks of these."""
LEAST_MISSING_TOKENS = 64
"""And no fewer than the fewest that the engine had ever cached: an end that fills none of its
blocks never is, and these hold from 16 tokens to hundreds."""
LARGEST_BLOCK_TOKENS = 1024


class Outcome(StrEnum):
    """What became of a belief."""

    HELD = "held"
    DROPPED = "dropped"


class Belief(NamedTuple):
    share: float
    """Of the prompt."""
    last_use: int
    """The answer by which it was last known to be cached there."""


class Sent(NamedTuple):
    """What a replica was sent."""

    prompt: Prompt
    upstream: Upstream
    cache: str
    """The replica's when it was sent: it may have begun anew since."""
    belief: Belief | None

    def cached_tokens(self, used: TokenCounts) -> int | None:
        """Return how many its engine had cached; None of one that has never told of any.

        Older vLLM leaves a count of none out.
        """
        upstream, cached = self.upstream, used.cached or 0
        if cached:
            upstream.least_cached_tokens = min(cached, upstream.least_cached_tokens or cached)
        return cached if upstream.least_cached_tokens else None


def belief_in(prompt: Prompt, letters: int, cache: str, uses: PrefixUses) -> Belief | None:
    """Return what is thought to be cached; None of what no answer has used, or of no known length.

    What is still being computed may be asked for again before it is there.
    """
    if len(prompt.blocks) >= MOST_BLOCKS:
        return None
    last_use = uses.last(prompt.blocks[prompt.ends.index(letters)], cache)
    return None if last_use is None else Belief(letters / prompt.ends[-1], last_use)


def outcome_of(
    belief: Belief, prompt_tokens: int, cached_tokens: int, *, least_cached_tokens: int
) -> Outcome:
    expected = belief.share * prompt_tokens
    block = min(least_cached_tokens, LARGEST_BLOCK_TOKENS)
    is_missing = expected - cached_tokens >= max(LEAST_MISSING_TOKENS, block)
    return Outcome.DROPPED if is_missing and cached_tokens < LEAST_HELD * expected else Outcome.HELD

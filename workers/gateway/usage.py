"""Token counts out of answers, without parsing the answers."""

import re
from typing import NamedTuple

_PROMPT = re.compile(rb'"(?:prompt|input)_tokens"\s*:\s*(\d{1,15})(?!\d)')
_COMPLETION = re.compile(rb'"(?:completion|output)_tokens"\s*:\s*(\d{1,15})(?!\d)')
_CACHED = re.compile(rb'"(?:cached_tokens|cache_read_input_tokens)"\s*:\s*(\d{1,15})(?!\d)')
LONGEST_USAGE_BYTES = 2048
_MOST_DIGITS = 15
"""A count of more is none, and Python reads no number of some thousand digits."""

COMPUTED_TOKENS = b"x-compute-tokens"
"""Header in which an engine counts what it read, where its answer is a bare array of scores."""


class TokenCounts(NamedTuple):
    prompt: int
    completion: int
    cached: int | None = None
    """Of the prompt; None where the engine does not say."""


def counts_in(usage: bytes) -> TokenCounts | None:
    """Return the counts in the text of a `usage` object."""
    prompt = _PROMPT.search(usage)
    if prompt is None:
        return None
    completion = _COMPLETION.search(usage)
    cached = _CACHED.search(usage)
    return TokenCounts(
        int(prompt[1]), int(completion[1]) if completion else 0, int(cached[1]) if cached else None
    )


def counted_by_header(value: bytes | None) -> TokenCounts | None:
    if value is None or not value.isdigit() or len(value) > _MOST_DIGITS:
        return None
    return TokenCounts(int(value), 0)

"""What was asked and answered -> its outline: which pieces of it are the same, and no word of it.

A drafter copies what stood before, so that all it needs is to know which tokens are equal. Each
piece of text is named by the number of its first appearance in this one conversation: what comes
back says how a text repeats itself, and neither a word nor a number nor a key in it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from workers.gateway.traffic_samples.prompt_and_answer import PromptAndAnswer

LONGEST_PROMPT_CHARACTERS = 128 * 1024
"""Of which the last count: as many as a drafter looks at."""
LONGEST_ANSWER_CHARACTERS = 32 * 1024
_PIECE = re.compile(r" ?[^\W\d_]+| ?\d| ?[^\w\s]+|_+|\s+(?!\S)|\s+")
"""As tokenizers cut a text before they look words up: words, digits, signs and gaps."""
_BITS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 64)
_USUAL_BIT = 7
"""Characters of the longest bit of a piece that is one token, where the engine told no counts."""


class Outline(NamedTuple):
    """Numbers in place of tokens; equal numbers are equal tokens."""

    prompt: Sequence[int]
    answer: Sequence[int]


def outlined(exchange: PromptAndAnswer, tokens: int | None = None) -> Outline:
    prompt = exchange.prompt[-LONGEST_PROMPT_CHARACTERS:]
    answer = exchange.answer[:LONGEST_ANSWER_CHARACTERS]
    prompt_pieces, answered = _PIECE.findall(prompt), _PIECE.findall(answer)
    counted = None
    if tokens:
        share = (len(prompt) + len(answer)) / max(1, len(exchange.prompt) + len(exchange.answer))
        counted = tokens * share
    longest, numbers = _longest_bit([*prompt_pieces, *answered], counted), dict[str, int]()
    return Outline(
        _numbered(prompt_pieces, longest, numbers), _numbered(answered, longest, numbers)
    )


def _longest_bit(pieces: Iterable[str], tokens: float | None) -> int:
    """Return how long bits are to be, so that there are as many as the engine counted tokens."""
    if tokens is None:
        return _USUAL_BIT
    lengths = Counter(map(len, pieces))
    return min(_BITS, key=lambda longest: abs(_bits(lengths, longest) - tokens))


def _bits(lengths: Mapping[int, int], longest: int) -> int:
    return sum(-(-length // longest) * count for length, count in lengths.items())


def _numbered(pieces: Iterable[str], longest: int, numbers: dict[str, int]) -> list[int]:
    return [
        numbers.setdefault(piece[start : start + longest], len(numbers))
        for piece in pieces
        for start in range(0, len(piece), longest)
    ]

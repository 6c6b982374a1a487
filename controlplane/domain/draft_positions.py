"""Which positions of drafts are told apart: how many of them had that many right tokens or more."""

from collections.abc import Iterator

POSITIONS = (1, 2, 4, 8, 16, 32, 64)


def series_of(position: int) -> str:
    """Return the series that counts drafts whose first so many tokens were accepted."""
    return f"drafts_accepted_to_{position}"


def positions_within(tokens: int) -> Iterator[int]:
    """Give the positions that a draft reached of which so many tokens were accepted."""
    return (each for each in POSITIONS if each <= tokens)

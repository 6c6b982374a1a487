"""Lookahead in the native engine: a drafter of the library for each row."""

from functools import partial

from workers.engine.drafts import MakeDrafter
from workers.lookahead.row_drafter import row_drafter


def drafters(ngram: int, factor: int, device: str = "cpu") -> MakeDrafter:
    return partial(row_drafter, ngram, factor, device)

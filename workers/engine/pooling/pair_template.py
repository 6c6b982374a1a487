"""A query and a text as a language model is asked about them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Framed:
    """A query and a text as the model reads them, in pieces that are encoded one by one."""

    pieces: tuple[str, ...]
    place: int
    """The piece that holds the text."""
    start: int
    """The text's first character in it; the text ends the piece, or `after` follows."""
    end: int


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The tokens whose scores make the score of a pair."""

    yes: int
    no: int | None
    """Without it, the score is that of `yes` alone."""


class PairTemplate(Protocol):
    """One way of asking."""

    answers: Answers | None
    """None where a head of the checkpoint makes the score."""
    bos: int | None
    """The token that every pair begins with."""

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        """Give back the pair as it is read."""

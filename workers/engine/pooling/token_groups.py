"""Labels of tokens to labels of words and of whole names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

OUTSIDE = "O"
"""The label of tokens that belong to no name."""


class Strategy(StrEnum):
    """How tokens are joined; all but `simple` first let each word have one label."""

    NONE = "none"
    SIMPLE = "simple"
    FIRST = "first"
    AVERAGE = "average"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the text with a score per label: a token, or a word of several."""

    token_id: int
    start: int
    end: int
    scores: Sequence[float]
    continues: bool = False
    """Whether it belongs to the word of the piece before."""

    @property
    def best(self) -> int:
        """The label with the highest score."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pieces next to each other that name one thing."""

    label: str
    score: float
    token_id: int
    start: int
    end: int


def group(pieces: Sequence[Piece], labels: Sequence[str], strategy: Strategy) -> list[Group]:
    """Give back what is named in a text, what lies outside left out."""
    if strategy is not Strategy.SIMPLE:
        pieces = [_MERGES[strategy](word) for word in _words(pieces)]
    found = (_as_one(parts, labels) for parts in _names(pieces, labels))
    return [each for each in found if each.label != OUTSIDE]


def _words(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    word: list[Piece] = []
    for piece in pieces:
        if word and not piece.continues:
            yield word
            word = []
        word.append(piece)
    if word:
        yield word


def _names(pieces: Sequence[Piece], labels: Sequence[str]) -> Iterator[list[Piece]]:
    """Neighbours of one kind; a `B-` label begins another."""
    name: list[Piece] = []
    for piece in pieces:
        begins, kind = _split(labels[piece.best])
        if name and (begins or kind != _split(labels[name[-1].best])[1]):
            yield name
            name = []
        name.append(piece)
    if name:
        yield name


def _split(label: str) -> tuple[bool, str]:
    """Whether a label begins a name, and of which kind."""
    if label.startswith(("B-", "I-")):
        return label.startswith("B-"), label[2:]
    return False, label


def _as_one(parts: Sequence[Piece], labels: Sequence[str]) -> Group:
    return Group(
        label=labels[parts[0].best].split("-", 1)[-1],
        score=fmean(part.scores[part.best] for part in parts),
        token_id=parts[0].token_id,
        start=parts[0].start,
        end=parts[-1].end,
    )


def _with_scores(word: Sequence[Piece], scores: Sequence[float]) -> Piece:
    first = word[0]
    return Piece(token_id=first.token_id, start=first.start, end=word[-1].end, scores=scores)


def _by_first(word: Sequence[Piece]) -> Piece:
    return _with_scores(word, word[0].scores)


def _by_mean(word: Sequence[Piece]) -> Piece:
    by_label = zip(*(each.scores for each in word), strict=True)
    return _with_scores(word, [fmean(scores) for scores in by_label])


def _by_surest(word: Sequence[Piece]) -> Piece:
    return _with_scores(word, max(word, key=lambda piece: max(piece.scores)).scores)


_MERGES: Mapping[Strategy, Callable[[Sequence[Piece]], Piece]] = {
    Strategy.FIRST: _by_first,
    Strategy.AVERAGE: _by_mean,
    Strategy.MAX: _by_surest,
}

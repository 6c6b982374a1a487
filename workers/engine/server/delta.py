"""What a piece of an answer's text means to the reader of a chat."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class CallPiece:
    """Part of one tool call; the name comes with the first part and never again."""

    index: int
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, kw_only=True)
class Delta:
    """What one piece adds to the message."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[CallPiece, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning or self.calls)


class Reader(Protocol):
    """Sorts the text of one answer as it comes."""

    def push(self, text: str) -> Delta:
        """Take a piece; give back what is settled."""

    def finish(self) -> Delta:
        """Give back what was held until the end."""


class PlainReader:
    """All text is content."""

    def push(self, text: str) -> Delta:
        """Give the piece back as it is."""
        return Delta(content=text)

    def finish(self) -> Delta:
        """Nothing was held."""
        return Delta()


def join(deltas: Iterable[Delta]) -> Delta:
    """Give back all pieces as one, each call whole."""
    content = reasoning = ""
    calls: dict[int, CallPiece] = {}
    for delta in deltas:
        content += delta.content
        reasoning += delta.reasoning
        for piece in delta.calls:
            before = calls.get(piece.index)
            calls[piece.index] = _grown(before, piece) if before else piece
    return Delta(content=content, reasoning=reasoning, calls=tuple(calls.values()))


def _grown(call: CallPiece, piece: CallPiece) -> CallPiece:
    return replace(call, arguments=call.arguments + piece.arguments)

"""What a piece of an answer's text means to the reader of a chat."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class CallPiece:
    """Part of one tool call; the name comes with the first part and never again."""

    index: int
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, kw_only=True)
class Delta:
    content: str = ""
    reasoning: str = ""
    calls: tuple[CallPiece, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning or self.calls)

    def __add__(self, later: "Delta") -> "Delta":
        calls = list(self.calls)
        for piece in later.calls:
            if calls and calls[-1].index == piece.index:
                calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + piece.arguments)
            else:
                calls.append(piece)
        return Delta(
            content=self.content + later.content,
            reasoning=self.reasoning + later.reasoning,
            calls=tuple(calls),
        )

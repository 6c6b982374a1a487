"""OpenAI's answer bodies for plain completions and chats."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

from controlplane.clock import SYSTEM
from workers.engine.generation import TokenScore
from workers.engine.server.choices import Choices
from workers.engine.server.delta import CallPiece, Delta


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The envelope of one answer, and its choices as `/v1/completions` has them."""

    model: str
    token_bytes: Callable[[int], bytes]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(SYSTEM.time()))

    id_prefix: ClassVar[str] = "cmpl-"
    whole_object: ClassVar[str] = "text_completion"
    chunk_object: ClassVar[str] = "text_completion"

    def whole(self, choices: Choices) -> dict[str, Any]:
        """Give back the body of an answer that is not streamed."""
        told = [
            self.choice(
                one.index, one.said, one.reason, one.scores if choices.tells_scores else None,
                is_whole=True,
            )
            for one in choices.all
        ]  # fmt: skip
        envelope = self._envelope(self.whole_object)
        return {**envelope, "choices": told, "usage": choices.usage.to_json()}

    def chunk(self, *choices: dict[str, Any]) -> dict[str, Any]:
        """Give back one event of a stream."""
        return {**self._envelope(self.chunk_object), "choices": choices}

    def choice(
        self,
        index: int,
        said: Delta,
        reason: str | None,
        scores: Sequence[TokenScore] | None,
        *,
        offset: int = 0,
        is_whole: bool = False,
    ) -> dict[str, Any]:
        """Give back a choice, or a piece of one that begins at `offset` of its text."""
        logprobs = None if scores is None else self._logprobs(scores, offset)
        said_as = self._said(said, is_whole=is_whole)
        return {"index": index, **said_as, "logprobs": logprobs, "finish_reason": reason}

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the piece that comes before any text, where the shape has one."""
        return None

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id_prefix + self.key, "object": kind, "created": self.created,
            "model": self.model,
        }  # fmt: skip

    def _said(self, said: Delta, *, is_whole: bool) -> dict[str, Any]:
        return {"text": said.content}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        tokens = [self._text(score.token) for score in scores]
        return {
            "tokens": tokens,
            "token_logprobs": [score.logprob for score in scores],
            "top_logprobs": [
                {self._text(token): logprob for token, logprob in score.likeliest}
                for score in scores
            ],
            "text_offset": [*accumulate(map(len, tokens[:-1]), initial=offset)][: len(tokens)],
        }

    def _text(self, token: int) -> str:
        return self.token_bytes(token).decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class ChatShape(Shape):
    """The same for `/v1/chat/completions`."""

    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the piece that names the role."""
        role = {"delta": {"role": "assistant", "content": ""}}
        return {"index": index, **role, "logprobs": None, "finish_reason": None}

    def _said(self, said: Delta, *, is_whole: bool) -> dict[str, Any]:
        told: dict[str, Any] = {"content": said.content} if said.content else {}
        if is_whole:
            content = None if said.calls else ""
            told = {"role": "assistant", "content": content, "refusal": None, **told}
        if said.reasoning:
            told["reasoning_content"] = said.reasoning
        if said.calls:
            told["tool_calls"] = [
                _call(piece) if is_whole else {"index": piece.index, **_call(piece)}
                for piece in said.calls
            ]
        return {"message" if is_whole else "delta": told}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        content = [
            self._entry(score.token, score.logprob)
            | {"top_logprobs": [self._entry(*pair) for pair in score.likeliest]}
            for score in scores
        ]
        return {"content": content, "refusal": None}

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        raw = list(self.token_bytes(token))
        return {"token": self._text(token), "logprob": logprob, "bytes": raw}


def _call(piece: CallPiece) -> dict[str, Any]:
    """A call, or the later part of one, which clients append to the part with the name."""
    if piece.name is None:
        return {"function": {"arguments": piece.arguments}}
    return {
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": piece.name, "arguments": piece.arguments},
    }

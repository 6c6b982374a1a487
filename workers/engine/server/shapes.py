"""OpenAI's answer bodies for plain completions and chats."""

import uuid
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
        bodies = [
            self.choice(
                one.index, one.delta, one.reason, one.scores if choices.tells_scores else None,
                is_whole=True,
            )
            | self._prompt_logprobs(one.prompt_scores)
            for one in choices.all
        ]  # fmt: skip
        envelope = self._envelope(self.whole_object)
        return {**envelope, "choices": bodies, "usage": choices.usage.to_json()}

    def chunk(self, *choices: dict[str, Any]) -> dict[str, Any]:
        return {**self._envelope(self.chunk_object), "choices": choices}

    def choice(
        self,
        index: int,
        delta: Delta,
        reason: str | None,
        scores: Sequence[TokenScore] | None,
        *,
        offset: int = 0,
        is_whole: bool = False,
    ) -> dict[str, Any]:
        """Give back a choice, or a piece of one that begins at `offset` of its text."""
        logprobs = None if scores is None else self._logprobs(scores, offset)
        said_as = self._message(delta, is_whole=is_whole)
        return {"index": index, **said_as, "logprobs": logprobs, "finish_reason": reason}

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the piece that comes before any text, where the shape has one."""
        return None

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id_prefix + self.key, "object": kind, "created": self.created,
            "model": self.model,
        }  # fmt: skip

    def _message(self, delta: Delta, *, is_whole: bool) -> dict[str, Any]:
        return {"text": delta.content}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        return {
            "tokens": [self._name(score.token) for score in scores],
            "token_logprobs": [score.logprob for score in scores],
            "top_logprobs": [self._top(score) for score in scores],
            "text_offset": [*self._offsets(scores, offset)],
        }

    def _top(self, score: TokenScore) -> dict[str, float] | None:
        """The likeliest, and the token itself where it is none of them."""
        if score.logprob is None:
            return None
        likeliest = {self._name(token): logprob for token, logprob in score.likeliest}
        return {**likeliest, self._name(score.token): score.logprob}

    def _offsets(self, scores: Sequence[TokenScore], offset: int) -> Iterator[int]:
        """Where each token begins in the text; one that ends no character moves nothing."""
        decoder = getincrementaldecoder("utf-8")(errors="replace")
        for score in scores:
            yield offset
            offset += len(decoder.decode(self.token_bytes(score.token)))

    def _prompt_logprobs(self, scores: Sequence[TokenScore]) -> dict[str, Any]:
        """As vLLM tells them, by the token's number; nothing comes before the first."""
        if not scores:
            return {}
        return {"prompt_logprobs": [None, *map(self._ranked, scores[1:])]}

    def _ranked(self, score: TokenScore) -> dict[str, Any]:
        ranked = [(score.token, score.logprob, score.rank)]
        ranked += [(*pair, rank) for rank, pair in enumerate(score.likeliest, 1)]
        return {
            str(token): {"logprob": logprob, "rank": rank, "decoded_token": self._text(token)}
            for token, logprob, rank in ranked
        }

    def _name(self, token: int) -> str:
        """A token as text; one that is no whole character by its bytes, as OpenAI writes them."""
        raw = self.token_bytes(token)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)

    def _text(self, token: int) -> str:
        return self.token_bytes(token).decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class ChatShape(Shape):
    """The same for `/v1/chat/completions`."""

    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def whole(self, choices: Choices) -> dict[str, Any]:
        """Give back the body of an answer; all choices have one prompt, whose scores stand once."""
        body = super().whole(choices)
        of_prompt = [one.pop("prompt_logprobs", None) for one in body["choices"]]
        return body if of_prompt[0] is None else {**body, "prompt_logprobs": of_prompt[0]}

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the piece that names the role."""
        role = {"delta": {"role": "assistant", "content": ""}}
        return {"index": index, **role, "logprobs": None, "finish_reason": None}

    def _message(self, delta: Delta, *, is_whole: bool) -> dict[str, Any]:
        message: dict[str, Any] = {"content": delta.content} if delta.content else {}
        if is_whole:
            content = None if delta.calls else ""
            message = {"role": "assistant", "content": content, "refusal": None, **message}
        if delta.reasoning:
            message["reasoning_content"] = delta.reasoning
        if delta.calls:
            message["tool_calls"] = [
                _call(piece) if is_whole else {"index": piece.index, **_call(piece)}
                for piece in delta.calls
            ]
        return {"message" if is_whole else "delta": message}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        content = [
            self._entry(score.token, score.logprob or 0.0)
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

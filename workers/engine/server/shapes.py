"""OpenAI's answer bodies for chat and plain completions."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from controlplane.domain.wire import Usage
from workers.engine.generation import TokenScore
from workers.engine.server.delta import CallPiece, Delta
from workers.engine.server.logprobs import TokenBytes, chat_logprobs, completion_logprobs


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens of all choices so far."""

    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompts, each counted once."""


@dataclass(frozen=True, kw_only=True)
class AnswerShape:
    """One answer's envelope; subclasses know how a choice looks."""

    model: str
    prompt_tokens: int
    token_bytes: TokenBytes
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    id_prefix: ClassVar[str]
    whole_object: ClassVar[str]
    chunk_object: ClassVar[str]

    def whole(self, choices: Sequence[dict[str, Any]], used: Used) -> dict[str, Any]:
        """Give back the body of an answer that is not streamed."""
        envelope = self._envelope(self.whole_object)
        return {**envelope, "choices": list(choices), "usage": self.usage(used)}

    def choice(
        self, index: int, said: Delta, reason: str, scores: Sequence[TokenScore] | None
    ) -> dict[str, Any]:
        """Give back one finished choice."""
        logprobs = None if scores is None else self._logprobs(scores, 0)
        return {
            "index": index, **self._said(said), "logprobs": logprobs, "finish_reason": reason,
        }  # fmt: skip

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the chunk that comes before any text, where the shape has one."""
        return None

    def chunk(
        self,
        index: int,
        added: Delta,
        reason: str | None,
        scores: Sequence[TokenScore] = (),
        offset: int = 0,
    ) -> dict[str, Any]:
        """Give back one piece of a streamed choice."""
        logprobs = self._logprobs(scores, offset) if scores else None
        return self._chunk(index, logprobs, {**self._added(added, index), "finish_reason": reason})

    def usage_chunk(self, used: Used) -> dict[str, Any]:
        """Give back the last chunk, which counts and holds no choice."""
        envelope = self._envelope(self.chunk_object)
        return {**envelope, "choices": [], "usage": self.usage(used)}

    def usage(self, used: Used) -> dict[str, Any]:
        """Give back the token counts so far."""
        counts = Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cached_tokens=used.cached_tokens,
        )
        return counts.to_json()

    def _chunk(self, index: int, logprobs: Any, choice: dict[str, Any]) -> dict[str, Any]:
        choice = {"index": index, "logprobs": logprobs, **choice}
        return {**self._envelope(self.chunk_object), "choices": [choice]}

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id_prefix + self.key,
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def _said(self, said: Delta) -> dict[str, Any]:
        return {"text": said.content}

    def _added(self, added: Delta, index: int) -> dict[str, Any]:
        return {"text": added.content}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        return completion_logprobs(scores, self.token_bytes, offset=offset)


@dataclass(frozen=True, kw_only=True)
class CompletionShape(AnswerShape):
    """`/v1/completions`."""

    id_prefix = "cmpl-"
    whole_object = "text_completion"
    chunk_object = "text_completion"


@dataclass(frozen=True, kw_only=True)
class ChatShape(AnswerShape):
    """`/v1/chat/completions`."""

    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def opening(self, index: int) -> dict[str, Any] | None:
        """Give back the chunk that names the role."""
        delta = {"delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        return self._chunk(index, None, delta)

    def _said(self, said: Delta) -> dict[str, Any]:
        content = None if said.calls and not said.content else said.content
        message = {"role": "assistant", "content": content, "refusal": None}
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        calls = [_call(piece) for piece in said.calls]
        return {"message": {**message, "tool_calls": calls} if calls else message}

    def _added(self, added: Delta, index: int) -> dict[str, Any]:
        delta: dict[str, Any] = {"content": added.content} if added.content else {}
        if added.reasoning:
            delta["reasoning_content"] = added.reasoning
        if added.calls:
            delta["tool_calls"] = [{"index": one.index, **_call(one)} for one in added.calls]
        return {"delta": delta}

    def _logprobs(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any]:
        return chat_logprobs(scores, self.token_bytes)


def _call(piece: CallPiece) -> dict[str, Any]:
    """A call, or the later part of one, which clients append to the part with the name."""
    if piece.name is None:
        return {"function": {"arguments": piece.arguments}}
    return {
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": piece.name, "arguments": piece.arguments},
    }

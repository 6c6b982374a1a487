"""OpenAI's answer bodies for chat and plain completions."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Any, ClassVar

from controlplane.domain.wire import Usage


@dataclass(frozen=True, kw_only=True)
class AnswerShape:
    """One answer's envelope; subclasses know how a choice looks."""

    model: str
    prompt_tokens: int
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    id_prefix: ClassVar[str]
    whole_object: ClassVar[str]
    chunk_object: ClassVar[str]

    def whole(self, text: str, reason: str, completion_tokens: int) -> dict[str, Any]:
        """Give back the body of an answer that is not streamed."""
        choice = {"index": 0, **self._whole_choice(text), "logprobs": None, "finish_reason": reason}
        return {
            **self._envelope(self.whole_object),
            "choices": [choice],
            "usage": self.usage(completion_tokens),
        }

    def opening(self) -> dict[str, Any] | None:
        """Give back the chunk that comes before any text, where the shape has one."""
        return None

    def chunk(self, text: str, reason: str | None) -> dict[str, Any]:
        """Give back one piece of a streamed answer."""
        return self._chunk({**self._piece_choice(text), "finish_reason": reason})

    def usage_chunk(self, completion_tokens: int) -> dict[str, Any]:
        """Give back the last chunk, which counts and holds no choice."""
        envelope = self._envelope(self.chunk_object)
        return {**envelope, "choices": [], "usage": self.usage(completion_tokens)}

    def usage(self, completion_tokens: int) -> dict[str, Any]:
        """Give back the token counts so far."""
        counts = Usage(prompt_tokens=self.prompt_tokens, completion_tokens=completion_tokens)
        return counts.to_json()

    def _chunk(self, choice: dict[str, Any]) -> dict[str, Any]:
        choice = {"index": 0, "logprobs": None, **choice}
        return {**self._envelope(self.chunk_object), "choices": [choice]}

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id_prefix + self.key,
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def _whole_choice(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def _piece_choice(self, text: str) -> dict[str, Any]:
        return {"text": text}


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

    def opening(self) -> dict[str, Any] | None:
        """Give back the chunk that names the role."""
        return self._chunk({"delta": {"role": "assistant", "content": ""}, "finish_reason": None})

    def _whole_choice(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text, "refusal": None}}

    def _piece_choice(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text} if text else {}}

"""The objects of an answer of `/v1/responses`, as OpenAI's client reads them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.clock import SYSTEM

Item = dict[str, Any]
_ECHOED: Mapping[str, Any] = {
    "instructions": None, "max_output_tokens": None, "metadata": {}, "parallel_tool_calls": True,
    "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "user": None,
}  # fmt: skip
"""What an answer repeats of its request, and what it says where the request left it out."""
_TOO_LONG = "length"
_FILTERED = "content_filter"


@dataclass(slots=True)
class Envelope:
    """What is the same in every event of one answer."""

    parameters: Mapping[str, Any]
    id: str = field(default_factory=lambda: new_id("resp"))
    created_at: int = field(default_factory=lambda: int(SYSTEM.time()))

    def response(
        self,
        status: str,
        *,
        output: list[Item],
        model: object = None,
        usage: object = None,
        reason: object = None,
    ) -> dict[str, Any]:
        """Return the whole object; `reason` is why a chat finished."""
        given = {name: self.parameters.get(name) for name in _ECHOED}
        echoed = {name: _ECHOED[name] if given[name] is None else given[name] for name in _ECHOED}
        text = self.parameters.get("text") or {}
        return {
            "id": self.id, "object": "response", "created_at": self.created_at, "status": status,
            "background": False, "error": None, "incomplete_details": _why(reason),
            "model": model or self.parameters.get("model") or "", "output": output,
            "previous_response_id": None, "reasoning": {"effort": None, "summary": None},
            "service_tier": "default", "store": False,
            "text": {"format": text.get("format") or {"type": "text"}},
            "truncation": "disabled", "usage": usage_of(usage), **echoed,
        }  # fmt: skip


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(16)}"


def status_of(reason: object) -> str:
    return "incomplete" if _why(reason) else "completed"


def message(id: str, text: str, status: str = "completed") -> Item:
    return {
        "id": id, "type": "message", "role": "assistant", "status": status,
        "content": [text_part(text)],
    }  # fmt: skip


def text_part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def reasoning(id: str, text: str, status: str = "completed") -> Item:
    content = [{"type": "reasoning_text", "text": text}]
    return {"id": id, "type": "reasoning", "summary": [], "content": content, "status": status}


def call(id: str, call_id: str, name: str, arguments: str, status: str = "completed") -> Item:
    return {
        "id": id, "type": "function_call", "call_id": call_id, "name": name,
        "arguments": arguments, "status": status,
    }  # fmt: skip


def usage_of(usage: object) -> dict[str, Any] | None:
    if not isinstance(usage, dict):
        return None
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    thought = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return {
        "input_tokens": read, "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written, "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": read + written,
    }  # fmt: skip


def _count(counts: object, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) else 0


def _why(reason: object) -> dict[str, str] | None:
    if reason == _TOO_LONG:
        return {"reason": "max_output_tokens"}
    return {"reason": "content_filter"} if reason == _FILTERED else None

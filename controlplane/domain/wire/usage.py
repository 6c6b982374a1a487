from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Prompt and completion tokens, as billed."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the `usage` object of an OpenAI answer."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }

    @classmethod
    def from_json(cls, usage: Any) -> "Usage | None":
        """Return the counts of an answer's `usage`, or None where it has none that make sense."""
        if not isinstance(usage, Mapping):
            return None
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if not (_is_count(prompt) and _is_count(completion)):
            return None
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
        return cls(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached if _is_count(cached) else 0,
        )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

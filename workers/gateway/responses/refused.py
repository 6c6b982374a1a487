"""What `/v1/responses` takes elsewhere and not here, each by name and with what to do instead."""

import json
from collections.abc import Mapping
from typing import Any

from workers.gateway.refusals import Refusal, Refused

_LONGEST_VALUE = 60
_NOT_KEPT = "Answers are not kept here: send the whole conversation in `input`"
_HARMLESS: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "store": ((False,), f"{_NOT_KEPT}, and `store: false` or nothing"),
    "previous_response_id": ((), _NOT_KEPT),
    "conversation": ((), _NOT_KEPT),
    "background": ((False,), "Answers are not fetched later here: leave it out, or `stream`"),
    "prompt": ((), "No prompts are kept here: send `instructions` and `input`"),
    "include": (([],), "None of what it asks for is there: leave it out"),
    "reasoning": (({},), "How long this model thinks cannot be told: leave it out"),
    "truncation": (("disabled",), "Nothing is cut out of an input: send a shorter one"),
    "service_tier": (("auto", "default"), "There is one tier: leave it out"),
    "top_logprobs": ((0,), "They are told by `/v1/chat/completions`"),
    "moderation": ((), "Nothing is moderated here: leave it out"),
    "context_management": (([],), "Nothing is compacted here: send a shorter `input`"),
}
"""Field -> the values beside null that ask for nothing, and what to do about the others."""
_TAKEN = frozenset(
    {
        "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text",
        "max_output_tokens", "temperature", "top_p", "stream", "stream_options", "metadata",
        # Words about who asks, which change no answer; and what belongs to tools that are not here.
        "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
        "max_tool_calls", "cache_salt",
    }
)  # fmt: skip


def require_stateless(data: Mapping[str, Any]) -> None:
    """Return if nothing is asked for that would be kept, hosted or lost. Raises Refused."""
    for name, value in data.items():
        if value is None or name in _TAKEN:
            continue
        if name not in _HARMLESS:
            raise unsupported(name, f"`{name}` is no field of `/v1/responses` here. Leave it out.")
        harmless, what_to_do = _HARMLESS[name]
        if not any(value == each and type(value) is type(each) for each in harmless):
            raise unsupported(name, f"`{name}` is `{shown(value)}`. {what_to_do}.")


def unsupported(place: str, message: str) -> Refused:
    return _refused(place, message, "unsupported_parameter")


def wrong(place: str, value: object, what_to_do: str) -> Refused:
    return _refused(place, f"`{place}` is `{shown(value)}`. {what_to_do}.", "invalid_value")


def shown(value: object) -> str:
    return json.dumps(value)[:_LONGEST_VALUE]


def _refused(place: str, message: str, code: str) -> Refused:
    return Refused(
        Refusal(status=400, code=code, error_code="client_error", message=message, param=place)
    )

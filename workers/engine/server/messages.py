"""The messages of a chat, as clients send them and as templates read them."""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator

from workers.engine.server.body import Body

TEMPLATE_ROLES = {"developer": "system"}
"""Newer names of a role, which no template knows."""


def _message_text(value: object) -> object:
    """Text as it is; a list of parts as the text of its parts."""
    return "".join(map(_part_text, value)) if isinstance(value, list) else value


def _part_text(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    if not isinstance(part, dict) or kind != "text":
        raise ValueError(f"has a part of type `{kind}`; this model reads `text` alone")
    text = part.get("text")
    return "" if text is None else str(text)


def _arguments(value: object) -> object:
    """Clients send the arguments as JSON in a text; templates write them out themselves.

    A model may have written what is no JSON, and it has to be shown what it wrote.
    """
    try:
        read = json.loads(value or "{}") if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return {} if read is None else read


class CalledFunction(Body):
    name: str
    arguments: Annotated[Any, BeforeValidator(_arguments)] = {}


class ToolCall(Body):
    function: CalledFunction


class Message(Body):
    role: str
    content: Annotated[str, BeforeValidator(_message_text)] = ""
    tool_calls: list[ToolCall] | None = None

    @property
    def is_about_tools(self) -> bool:
        """Whether only a template that knows tools can render it."""
        return bool(self.tool_calls) or self.role == "tool"

    @property
    def has_odd_arguments(self) -> bool:
        calls = self.tool_calls or ()
        return not all(isinstance(call.function.arguments, dict) for call in calls)

    def to_template(self, *, wraps_arguments: bool = False) -> dict[str, Any]:
        """Give back what a chat template reads, arguments that are no object in one if need be."""
        message = self.model_dump(exclude_none=True)
        for call in message.get("tool_calls") or () if wraps_arguments else ():
            arguments = call["function"]["arguments"]
            if not isinstance(arguments, dict):
                call["function"]["arguments"] = {"arguments": arguments}
        return {**message, "role": TEMPLATE_ROLES.get(self.role, self.role)}

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
    """Clients send the arguments as JSON in a text; templates write them out themselves."""
    try:
        return json.loads(value or "{}") if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise ValueError("should be a JSON object in a text") from None


class CalledFunction(Body):
    name: str
    arguments: Annotated[dict[str, Any], BeforeValidator(_arguments)] = {}


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

    def to_template(self) -> dict[str, Any]:
        """Give back what a chat template reads."""
        message = self.model_dump(exclude_none=True)
        return {**message, "role": TEMPLATE_ROLES.get(self.role, self.role)}

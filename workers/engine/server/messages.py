"""The messages of a chat, as clients send them and as templates read them."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, field_validator

TEMPLATE_ROLES = {"developer": "system"}
"""Newer names of a role, which no template knows."""


def _message_text(value: object) -> object:
    """Text as it is; a list of parts as the text of its parts."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return value
    return "".join(_part_text(part) for part in value)


def _part_text(part: object) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        raise ValueError(f"has a part of type `{kind}`; this model reads `text` alone")
    return str(part.get("text", ""))


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class CalledFunction(_Part):
    name: str
    arguments: dict[str, Any] = {}

    @field_validator("arguments", mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        """Clients send the arguments as JSON in a text; templates write them out themselves."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value or "{}")
        except ValueError:
            raise ValueError("should be a JSON object in a text") from None


class ToolCall(_Part):
    function: CalledFunction


class Message(_Part):
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

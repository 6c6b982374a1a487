"""The tools that a chat request offers, and which of them it wants called."""

from typing import Any, Literal

from pydantic import Field

from workers.engine.server.body import Body


class Function(Body):
    name: str = Field(pattern=r"^[A-Za-z_][\w.-]{0,63}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Body):
    type: Literal["function"]
    function: Function


ToolChoice = Literal["auto", "none", "required"] | Tool
"""A tool by itself stands for its name."""

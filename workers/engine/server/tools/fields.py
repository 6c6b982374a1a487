"""The tools that a chat request offers, and which of them it wants called."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from workers.engine.server.body import Body


class Function(Body):
    name: str = Field(pattern=r"^[\w-][\w.-]{0,63}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Body):
    type: Literal["function"]
    function: Function


class AllowedTools(Body):
    mode: Literal["auto", "required"]
    tools: list[Tool] = Field(min_length=1)


class AllowedToolChoice(Body):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _form(choice: object) -> str:
    """Which form a choice has, so that its errors are those of this form alone."""
    if not isinstance(choice, Mapping):
        return "mode"
    return "some" if choice.get("type") == "allowed_tools" else "one"


ToolChoice = Annotated[
    Annotated[Literal["auto", "none", "required"], Tag("mode")]
    | Annotated[Tool, Tag("one")]
    | Annotated[AllowedToolChoice, Tag("some")],
    Discriminator(_form),
]
"""A tool in it stands for its name."""

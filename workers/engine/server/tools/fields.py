"""The tools that a chat request offers, and which of them it wants called."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Function(_Part):
    name: str = Field(pattern=r"^[A-Za-z_][\w.-]{0,63}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(_Part):
    type: Literal["function"]
    function: Function


class NamedFunction(_Part):
    name: str


class NamedChoice(_Part):
    type: Literal["function"]
    function: NamedFunction


ToolChoice = Literal["auto", "none", "required"] | NamedChoice

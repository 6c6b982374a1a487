"""The request bodies that the engine understands, and the fields it must refuse."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workers.engine.errors import RequestRefused
from workers.engine.server.unsupported import refuse_unsupported

MOST_STOP_STRINGS = 16


def _stop_strings(value: object) -> object:
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise ValueError("should be a string or a list of strings, none of them empty")
    if len(stops) > MOST_STOP_STRINGS:
        raise ValueError(f"holds {len(stops)} strings; the engine takes {MOST_STOP_STRINGS}")
    return tuple(stops)


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


class _Lenient(BaseModel):
    """Unknown fields pass, as clients send many that change nothing."""

    model_config = ConfigDict(extra="allow", frozen=True)


class StreamOptions(_Lenient):
    include_usage: bool = False
    continuous_usage_stats: bool = False


class JsonSchema(_Lenient):
    name: str = "answer"
    schema_: dict[str, Any] = Field(alias="schema")


class ResponseFormat(_Lenient):
    type: str
    json_schema: JsonSchema | None = None


class Message(_Lenient):
    role: str
    content: Annotated[str, BeforeValidator(_message_text)] = ""


class GenerationFields(_Lenient):
    """What chat and plain completions share."""

    model: str | None = None
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    top_k: int | None = Field(None, ge=-1)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stop: Annotated[tuple[str, ...], BeforeValidator(_stop_strings)] = ()
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    ignore_eos: bool | None = False

    @property
    def asked_tokens(self) -> int | None:
        """The answer's limit in tokens, where one is named."""
        return self.max_tokens


class ChatFields(GenerationFields):
    messages: list[Message] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1)

    @property
    def asked_tokens(self) -> int | None:
        """`max_completion_tokens` is the newer name and wins."""
        return self.max_completion_tokens or self.max_tokens


class CompletionFields(GenerationFields):
    prompt: str | list[Any]


Fields = TypeVar("Fields", bound=GenerationFields)


def read_fields(kind: type[Fields], body: Mapping[str, Any]) -> Fields:
    """Give back the checked body. Raises: `RequestRefused` that names the first bad field."""
    refuse_unsupported(body)
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise RequestRefused(f"`{field}`: {message}.", field=field) from None

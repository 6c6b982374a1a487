"""The request bodies that the engine understands."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
)

from workers.engine.errors import RequestRefused
from workers.engine.server.messages import Message
from workers.engine.server.tools.fields import Tool, ToolChoice
from workers.engine.server.unsupported import refuse_unsupported
from workers.engine.server.validation import validate

MOST_STOP_STRINGS = 16
MOST_CHOICES = 128
MOST_LOGPROBS = 20
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]


def _stop_strings(value: object) -> object:
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise ValueError("should be a string or a list of strings, none of them empty")
    if len(stops) > MOST_STOP_STRINGS:
        raise ValueError(f"holds {len(stops)} strings; the engine takes {MOST_STOP_STRINGS}")
    return tuple(stops)


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


class GenerationFields(_Lenient):
    """What chat and plain completions share."""

    model: str | None = None
    n: Annotated[StrictInt, Field(ge=1, le=MOST_CHOICES)] | None = None
    max_tokens: int | None = Field(None, ge=1)
    min_tokens: int | None = Field(None, ge=0)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: Share | None = None
    min_p: Share | None = None
    top_k: int | None = Field(None, ge=-1)
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: float | None = Field(None, gt=0, le=10, allow_inf_nan=False)
    logit_bias: dict[int, Bias] | None = None
    cache_salt: str | None = None
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stop: Annotated[tuple[str, ...], BeforeValidator(_stop_strings)] = ()
    stop_token_ids: list[StrictInt] | None = None
    ignore_eos: bool | None = False
    skip_special_tokens: bool | None = True
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: dict[str, Any] | None = None
    guided_json: dict[str, Any] | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None

    @property
    def asked_tokens(self) -> int | None:
        """The answer's limit in tokens, where one is named."""
        return self.max_tokens

    @property
    def asked_logprobs(self) -> int | None:
        """How many likeliest tokens are told beside each; nothing where none is asked for."""
        raise TypeError(f"{type(self).__name__} holds no logprobs")


class ChatFields(GenerationFields):
    messages: list[Message] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: StrictBool | None = None
    top_logprobs: Annotated[StrictInt, Field(ge=0, le=MOST_LOGPROBS)] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None

    @property
    def asked_tokens(self) -> int | None:
        """`max_completion_tokens` is the newer name and wins."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def asked_logprobs(self) -> int | None:
        """`top_logprobs` counts once `logprobs` is on."""
        if self.logprobs:
            return self.top_logprobs or 0
        if self.top_logprobs:
            raise RequestRefused("`top_logprobs` needs `logprobs: true`.", field="top_logprobs")
        return None


class CompletionFields(GenerationFields):
    prompt: str | list[Any]
    logprobs: Annotated[StrictInt, Field(ge=0, le=MOST_LOGPROBS)] | None = None

    @property
    def asked_logprobs(self) -> int | None:
        """Plain completions say it in one number."""
        return self.logprobs


Fields = TypeVar("Fields", bound=GenerationFields)


def read_fields(kind: type[Fields], body: Mapping[str, Any]) -> Fields:
    """Give back the checked body. Raises: `RequestRefused` that names the first bad field."""
    refuse_unsupported(body)
    return validate(kind, body)

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from workers.engine.errors import RequestRefused
from workers.engine.server.body import Body
from workers.engine.server.messages import Message
from workers.engine.server.tools.fields import Tool, ToolChoice
from workers.engine.server.unsupported import refuse_unsupported

MOST_STOP_STRINGS = 16
MOST_CHOICES = 128
Scores = Annotated[StrictInt, Field(ge=0, le=20)]
"""How many likeliest tokens are told beside each."""
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
Length = Annotated[int, Field(ge=1)]


def _stop_strings(value: object) -> object:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise ValueError("should be a string or a list of strings, none of them empty")
    if len(stops) > MOST_STOP_STRINGS:
        raise ValueError(f"holds {len(stops)} strings; the engine takes {MOST_STOP_STRINGS}")
    return tuple(stops)


class StreamOptions(Body):
    include_usage: bool = False
    continuous_usage_stats: bool = False


class JsonSchema(Body):
    schema_: dict[str, Any] = Field(alias="schema")


class ResponseFormat(Body):
    type: str
    json_schema: JsonSchema | None = None


class GenerationFields(Body):
    """What chat and plain completions share; the engine's own names where it has one."""

    model: str | None = None
    n: Annotated[StrictInt, Field(ge=1, le=MOST_CHOICES)] = 1
    max_tokens: Length | None = None
    min_tokens: Annotated[int, Field(ge=0)] = 0
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 1.0
    top_p: Share = 1.0
    min_p: Share = 0.0
    top_k: Annotated[int, Field(ge=-1), AfterValidator(lambda top_k: max(0, top_k))] = 0
    presence_penalty: Penalty = 0.0
    frequency_penalty: Penalty = 0.0
    repetition_penalty: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = 1.0
    logit_bias: dict[int, Bias] = {}
    cache_salt: str = ""
    prompt_logprobs: Scores | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    stop: Annotated[tuple[str, ...], BeforeValidator(_stop_strings)] = ()
    stop_tokens: frozenset[StrictInt] = Field(frozenset(), alias="stop_token_ids")
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    response_format: ResponseFormat = ResponseFormat(type="text")
    structured_outputs: dict[str, Any] = {}
    guided_json: dict[str, Any] | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_unsupported(cls, sent: Mapping[str, Any]) -> Mapping[str, Any]:
        refuse_unsupported(sent)
        return sent

    @model_validator(mode="after")
    def _options_of_a_stream(self) -> Self:
        if "stream_options" in self.model_fields_set and not self.stream:
            raise RequestRefused(
                "`stream_options` needs `stream: true`; send both or neither.",
                field="stream_options",
            )
        if self.stream and self.prompt_logprobs is not None:
            raise RequestRefused(
                "`prompt_logprobs` are told with a whole answer; leave out `stream`.",
                field="prompt_logprobs",
            )
        return self


class ChatFields(GenerationFields):
    messages: list[Message] = Field(min_length=1)
    max_tokens: Length | None = Field(
        None, validation_alias=AliasChoices("max_completion_tokens", "max_tokens")
    )
    logprobs: StrictBool = False
    top_logprobs: Scores = 0
    chat_template_kwargs: dict[str, Any] = {}
    tools: list[Tool] = []
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True

    @property
    def requested_logprobs(self) -> int | None:
        """`top_logprobs` counts once `logprobs` is on."""
        if self.top_logprobs and not self.logprobs:
            raise RequestRefused("`top_logprobs` needs `logprobs: true`.", field="top_logprobs")
        return self.top_logprobs if self.logprobs else None


class CompletionFields(GenerationFields):
    prompt: str | list[Any]
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    logprobs: Scores | None = None
    echo: StrictBool = False

    @property
    def requested_logprobs(self) -> int | None:
        """Plain completions say it in one number."""
        return self.logprobs

    @model_validator(mode="after")
    def _answer_or_prompt(self) -> Self:
        if self.max_tokens == 0 and not self.echo and self.prompt_logprobs is None:
            raise RequestRefused(
                "`max_tokens` is 0, which leaves nothing to answer; send 1 or more, or `echo: "
                "true` for the prompt and its scores.",
                field="max_tokens",
            )
        return self

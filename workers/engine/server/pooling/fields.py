"""The request bodies of the pooling routes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from workers.engine.pooling.encoding import Cut, Side, Text
from workers.engine.pooling.scores import Function
from workers.engine.pooling.token_groups import Strategy

Ids = tuple[int, ...]

_SHAPES = "should be a text, a pair of texts, or a list of lists that hold one or two texts"


def _inputs(value: object) -> object:
    """A text, token ids, or a list of either; always as a list of one kind."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise ValueError("should be a text, token ids, or a list of either, and not empty")
    if all(isinstance(each, str) for each in value):
        return value
    if _is_ids(value):
        return [tuple(value)]
    if all(_is_ids(each) for each in value):
        return [tuple(each) for each in value]
    raise ValueError("should hold either texts, or lists of token ids, none of them empty")


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(each) is int for each in value)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Texts and pairs to score."""

    texts: Sequence[Text]
    is_single: bool
    """Whether one came by itself, and not in a list."""


def _predicted(value: object) -> Inputs:
    """A text, a pair, or a list of lists that hold one or two texts each."""
    if isinstance(value, str) or _is_texts(value):
        return Inputs(texts=[_text(value)], is_single=True)
    if not isinstance(value, list) or not value:
        raise ValueError(_SHAPES)
    return Inputs(texts=[_text(each) for each in value], is_single=False)


def _text(value: Any) -> Text:
    if isinstance(value, str):
        return value
    if not _is_texts(value) or len(value) > 2:
        raise ValueError(_SHAPES)
    return value[0] if len(value) == 1 else (value[0], value[1])


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, str) for e in value)


class _Lenient(BaseModel):
    """Unknown fields pass, as clients send many that change nothing."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True)

    model: str | None = None
    truncate: bool | None = None
    truncation_direction: Annotated[
        Side, BeforeValidator(lambda side: side.lower() if isinstance(side, str) else side)
    ] = Side.RIGHT

    @property
    def cut(self) -> Cut:
        """Too long a text is cut unless the request forbids it."""
        return Cut(allowed=self.truncate is not False, side=self.truncation_direction)


class EmbeddingFields(_Lenient):
    input: Annotated[list[str] | list[Ids], BeforeValidator(_inputs)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, ge=1)
    prompt_name: str | None = None


class SparseFields(_Lenient):
    inputs: Annotated[list[str] | list[Ids], BeforeValidator(_inputs)]
    prompt_name: str | None = None


class RerankFields(_Lenient):
    query: str
    texts: list[str] = Field(min_length=1)
    raw_scores: bool = False
    return_text: bool = False


class PredictFields(_Lenient):
    inputs: Annotated[Inputs, BeforeValidator(_predicted)]
    raw_scores: bool = False
    function_to_apply: Function | None = None

    @property
    def is_single(self) -> bool:
        """Whether the answer has no list around it, as the input had none."""
        return self.inputs.is_single

    @property
    def texts(self) -> Sequence[Text]:
        """What is scored, each a text or a pair."""
        return self.inputs.texts


class TokenFields(PredictFields):
    aggregation_strategy: Strategy = Strategy.NONE

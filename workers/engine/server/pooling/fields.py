from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, StrictInt

from workers.engine.pooling.encoding import Cut, Side, Text
from workers.engine.pooling.names import OUTSIDE, Strategy
from workers.engine.pooling.scores import Function
from workers.engine.server.body import Body

_SHAPES = "should be a text, a pair of texts, or a list of lists that hold one or two texts"


def _inputs(value: object) -> object:
    """A text, token ids, or a list of either; always as a list of one kind."""
    if isinstance(value, str) or _are(int, value):
        return [value]
    if not isinstance(value, list) or not value:
        raise ValueError("should be a text, token ids, or a list of either, and not empty")
    if not _are(str, value) and not all(_are(int, each) for each in value):
        raise ValueError("should hold either texts, or lists of token ids, none of them empty")
    return value


def _are(kind: type, value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(each) is kind for each in value)


Inputs = Annotated[list[str] | list[list[int]], BeforeValidator(_inputs)]


class Scored(NamedTuple):
    texts: Sequence[Text]
    is_single: bool
    """Whether one came by itself, and not in a list."""


def _scored(value: object) -> Scored:
    if isinstance(value, str) or _are(str, value):
        return Scored([_text(value)], is_single=True)
    if not isinstance(value, list) or not value:
        raise ValueError(_SHAPES)
    return Scored([_text(each) for each in value], is_single=False)


def _text(value: Any) -> Text:
    parts = [value] if isinstance(value, str) else value
    if not _are(str, parts) or len(parts) > 2:
        raise ValueError(_SHAPES)
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


class PoolingFields(Body):
    """What every route takes."""

    model: str | None = None
    truncate: bool | Literal["NONE", "START", "END"] = True
    """Cohere names the end that is cut off, or none."""
    truncation_direction: Annotated[
        Side, BeforeValidator(lambda side: side.lower() if isinstance(side, str) else side)
    ] = Side.RIGHT

    @property
    def cut(self) -> Cut:
        """Too long a text is cut unless the request forbids it."""
        side = {"START": Side.LEFT, "END": Side.RIGHT}.get(str(self.truncate))
        return Cut(
            allowed=self.truncate not in (False, "NONE"), side=side or self.truncation_direction
        )


class SparseFields(PoolingFields):
    inputs: Inputs
    prompt_name: str | None = None


class EmbeddingFields(PoolingFields):
    input: Inputs
    prompt_name: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[StrictInt, Field(ge=1)] | None = None


class EmbedFields(SparseFields):
    normalize: bool = True
    dimensions: Annotated[StrictInt, Field(ge=1)] | None = None


class RerankFields(PoolingFields):
    query: str
    instruction: str | None = None
    texts: list[str] = Field(min_length=1)
    raw_scores: bool = False
    return_text: bool = False

    @property
    def pairs(self) -> Sequence[Text]:
        return [(self.query, text) for text in self.texts]


def _document(value: object) -> object:
    """Cohere and Jina take a text, or an object that holds it."""
    return value["text"] if isinstance(value, dict) and "text" in value else value


class DocumentFields(PoolingFields):
    query: str
    instruction: str | None = None
    documents: list[Annotated[str, BeforeValidator(_document)]] = Field(min_length=1)
    top_n: Annotated[StrictInt, Field(ge=1)] | None = None
    return_documents: bool = True

    @property
    def pairs(self) -> Sequence[Text]:
        return [(self.query, document) for document in self.documents]


class PredictFields(PoolingFields):
    inputs: Annotated[Scored, BeforeValidator(_scored)]
    raw_scores: bool = False
    function_to_apply: Function | None = None


class HubParameters(Body):
    function_to_apply: Function | None = None
    top_k: Annotated[StrictInt, Field(ge=1)] | None = None


class HubFields(PredictFields):
    """As the hub's client asks for labels."""

    parameters: HubParameters = HubParameters()


class TokenFields(PredictFields):
    aggregation_strategy: Strategy = "none"


class HubTokenParameters(Body):
    aggregation_strategy: Strategy = "simple"
    ignore_labels: list[str] = [OUTSIDE]


class HubTokenFields(PredictFields):
    """As the hub's client asks for names."""

    parameters: HubTokenParameters = HubTokenParameters()

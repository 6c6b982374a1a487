"""`/predict_tokens`: labels of tokens, or of the names that they make up."""

from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from torch import Tensor

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.scores import Function, rate
from workers.engine.pooling.token_groups import Piece, Strategy, group
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, check_count, compute, respond
from workers.engine.server.pooling.fields import TokenFields
from workers.engine.server.validation import validate


class TokenRoutes:
    """The handler of a model that labels tokens."""

    def __init__(self, engine: PoolingEngine) -> None:
        self._engine = engine

    async def predict_tokens(self, request: Request) -> Response:
        """Per text its tokens with a score per label, or what they name together."""
        fields = validate(TokenFields, await read_body(request))
        texts = _single_texts(fields)
        check_count(self._engine, len(texts), "inputs")
        computed = await compute(
            request,
            self._engine,
            lambda: self._engine.encoder.encode(texts, fields.cut, field="inputs"),
        )
        return await respond(computed, lambda: self._body(fields, texts, computed))

    def _body(self, fields: TokenFields, texts: Sequence[str], computed: Computed) -> Any:
        found = [
            list(self._labelled(text, row, logits, fields))
            for text, row, logits in zip(texts, computed.rows, computed.outputs, strict=True)
        ]
        return found[0] if fields.is_single else found

    def _labelled(
        self, text: str, row: Row, logits: Tensor, fields: TokenFields
    ) -> Iterator[dict[str, Any]]:
        labels, encoder = self._engine.model.labels, self._engine.encoder
        chosen = fields.function_to_apply or Function.SOFTMAX
        scores = rate(Function.NONE if fields.raw_scores else chosen, logits).tolist()
        pieces = [
            Piece(
                token_id=token_id, start=start, end=end, scores=of_token,
                continues=encoder.continues(token_id, text, start),
            )
            for token_id, (start, end), special, of_token in zip(
                row.ids, row.offsets, row.special, scores, strict=True
            )
            if not special
        ]  # fmt: skip
        if fields.aggregation_strategy is not Strategy.NONE:
            for each in group(pieces, labels, fields.aggregation_strategy):
                yield _entry(text[each.start : each.end], each, {each.label: each.score})
            return
        for piece in pieces:
            spelled = encoder.token(piece.token_id)
            yield _entry(spelled, piece, dict(zip(labels, piece.scores, strict=True)))


def _entry(token: str, place: Any, results: dict[str, float]) -> dict[str, Any]:
    return {
        "token": token,
        "token_id": place.token_id,
        "start": place.start,
        "end": place.end,
        "results": results,
    }


def _single_texts(fields: TokenFields) -> list[str]:
    texts = [text for text in fields.texts if isinstance(text, str)]
    if len(texts) != len(fields.texts):
        raise RequestRefused(
            "`inputs` holds a pair; tokens are labelled in one text at a time.", field="inputs"
        )
    return texts

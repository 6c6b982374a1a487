"""`/rerank` and `/predict`: bare arrays, as the performance client reads them."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.scores import Function, choose_function, rate
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, check_count, compute, respond
from workers.engine.server.pooling.fields import PredictFields, RerankFields
from workers.engine.server.validation import validate


class ScoreRoutes:
    """Handlers of a model that scores whole texts."""

    def __init__(self, engine: PoolingEngine) -> None:
        self._engine = engine
        self._function = choose_function(engine.model.module.config)

    async def rerank(self, request: Request) -> Response:
        """Score texts for one query, in the order in which they were sent."""
        fields = validate(RerankFields, await read_body(request))
        check_count(self._engine, len(fields.texts), "texts")
        pairs = [(fields.query, text) for text in fields.texts]
        computed = await compute(
            request,
            self._engine,
            lambda: self._engine.encoder.encode(pairs, fields.cut, field="texts"),
        )
        return await respond(computed, lambda: _ranks(fields, computed))

    async def predict(self, request: Request) -> Response:
        """Score the labels of each text, the likeliest first."""
        fields = validate(PredictFields, await read_body(request))
        check_count(self._engine, len(fields.texts), "inputs")
        computed = await compute(
            request,
            self._engine,
            lambda: self._engine.encoder.encode(fields.texts, fields.cut, field="inputs"),
        )
        return await respond(computed, lambda: self._labelled(fields, computed))

    def _labelled(self, fields: PredictFields, computed: Computed) -> Any:
        chosen = fields.function_to_apply or self._function
        function = Function.NONE if fields.raw_scores else chosen
        found = [self._best_first(rate(function, each).tolist()) for each in computed.outputs]
        return found[0] if fields.is_single else found

    def _best_first(self, scores: Sequence[float]) -> list[dict[str, Any]]:
        named = zip(self._engine.model.labels, scores, strict=True)
        found = [{"label": label, "score": score} for label, score in named]
        return sorted(found, key=lambda each: each["score"], reverse=True)


def _ranks(fields: RerankFields, computed: Computed) -> list[dict[str, Any]]:
    function = Function.NONE if fields.raw_scores else Function.SIGMOID
    ranks: list[dict[str, Any]] = [
        {"index": index, "score": float(rate(function, logits)[0])}
        for index, logits in enumerate(computed.outputs)
    ]
    if fields.return_text:
        return [rank | {"text": text} for rank, text in zip(ranks, fields.texts, strict=True)]
    return ranks

"""`/rerank` and `/predict`: bare arrays, as the performance client reads them."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.scores import FUNCTIONS, usual_function
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, pool
from workers.engine.server.pooling.fields import PredictFields, RerankFields


class ScoreRoutes:
    """Handlers of a model that scores whole texts."""

    def __init__(self, engine: PoolingEngine) -> None:
        self._engine = engine
        self._usual = usual_function(engine.model.module.config)

    async def rerank(self, request: Request) -> Response:
        """Score texts for one query, in the order in which they were sent."""
        fields = await read_body(RerankFields, request)
        pairs = [(fields.query, text) for text in fields.texts]
        encode = partial(self._engine.encoder.encode, pairs, fields.cut, field="texts")
        return await pool(request, self._engine, encode, partial(_ranks, fields))

    async def predict(self, request: Request) -> Response:
        """Score the labels of each text, the likeliest first."""
        fields = await read_body(PredictFields, request)
        texts = fields.inputs.texts
        encode = partial(self._engine.encoder.encode, texts, fields.cut, field="inputs")
        return await pool(request, self._engine, encode, partial(self._labelled, fields))

    def _labelled(self, fields: PredictFields, computed: Computed) -> Any:
        rate = FUNCTIONS["none" if fields.raw_scores else fields.function_to_apply or self._usual]
        labels, found = self._engine.model.labels, []
        for output in computed.outputs:
            scores = rate(output)
            order = scores.argsort(descending=True, stable=True).tolist()
            found.append([{"label": labels[at], "score": float(scores[at])} for at in order])
        return found[0] if fields.inputs.is_single else found


def _ranks(fields: RerankFields, computed: Computed) -> list[dict[str, Any]]:
    rate = FUNCTIONS["none" if fields.raw_scores else "sigmoid"]
    scores = [float(rate(output)[0]) for output in computed.outputs]
    ranks: list[dict[str, Any]] = [
        {"index": index, "score": score} for index, score in enumerate(scores)
    ]
    if fields.return_text:
        return [rank | {"text": text} for rank, text in zip(ranks, fields.texts, strict=True)]
    return ranks

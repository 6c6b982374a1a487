"""`/predict_tokens`: labels of tokens, or of the names that they make up."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from torch import Tensor

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.names import Names
from workers.engine.pooling.rows import Row
from workers.engine.pooling.scores import FUNCTIONS
from workers.engine.server.body import read_body
from workers.engine.server.pooling.compute import Computed, pool
from workers.engine.server.pooling.fields import TokenFields


class TokenRoutes:
    """The handler of a model that labels tokens."""

    def __init__(self, engine: PoolingEngine) -> None:
        self._engine = engine
        self._names = Names(engine.model.module, engine.encoder)

    async def predict_tokens(self, request: Request) -> Response:
        """Per text its tokens with a score per label, or what they name together."""
        fields = await read_body(TokenFields, request)
        texts = [text for text in fields.inputs.texts if isinstance(text, str)]
        if len(texts) != len(fields.inputs.texts):
            raise RequestRefused(
                "`inputs` holds a pair; tokens are labelled in one text at a time.", field="inputs"
            )
        encode = partial(self._engine.encoder.encode, texts, fields.cut, field="inputs")
        return await pool(request, self._engine, encode, partial(self._body, fields, texts))

    def _body(self, fields: TokenFields, texts: Sequence[str], computed: Computed) -> Any:
        rate = FUNCTIONS["none" if fields.raw_scores else fields.function_to_apply or "softmax"]
        found = [
            self._tokens(row, rate(logits))
            if fields.aggregation_strategy == "none"
            else self._names.join(text, row, rate(logits), fields.aggregation_strategy)
            for text, row, logits in zip(texts, computed.rows, computed.outputs, strict=True)
        ]
        return found[0] if fields.inputs.is_single else found

    def _tokens(self, row: Row, scores: Tensor) -> Sequence[dict[str, Any]]:
        each = zip(row.ids, row.offsets, row.special, scores.tolist(), strict=True)
        return [
            {
                "token": self._engine.encoder.token(token), "token_id": token,
                "start": start, "end": end,
                "results": dict(zip(self._engine.model.labels, of_token, strict=True)),
            }
            for token, (start, end), is_special, of_token in each
            if not is_special
        ]  # fmt: skip

"""`/predict_tokens`: labels of tokens, or of the names that they make up."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from workers.engine.errors import RequestRefused
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.names import Names
from workers.engine.pooling.rows import Row
from workers.engine.pooling.scores import FUNCTIONS
from workers.engine.server.pooling.compute import Computed
from workers.engine.server.pooling.fields import HubTokenFields, PredictFields, TokenFields


class TokenLabels:
    def __init__(self, engine: PoolingEngine) -> None:
        self._labels = engine.model.labels
        self._encoder = engine.encoder
        self._names = Names(engine.model.module, engine.encoder)

    def rows(self, fields: PredictFields) -> Sequence[Row]:
        """Encode the texts. Raises: `RequestRefused`."""
        if not all(isinstance(text, str) for text in fields.inputs.texts):
            raise RequestRefused(
                "`inputs` holds a pair; tokens are labelled in one text at a time.", field="inputs"
            )
        return self._encoder.encode(fields.inputs.texts, fields.cut, field="inputs")

    def body(self, fields: TokenFields, computed: Computed) -> Any:
        """Give back per text its tokens with a score per label, or what they name together."""
        rate = FUNCTIONS["none" if fields.raw_scores else fields.function_to_apply or "softmax"]
        rows = [
            self._tokens(row, rate(logits))
            if fields.aggregation_strategy == "none"
            else self._names.join(str(text), row, rate(logits), fields.aggregation_strategy)
            for text, row, logits in zip(
                fields.inputs.texts, computed.rows, computed.outputs, strict=True
            )
        ]
        return rows[0] if fields.inputs.is_single else rows

    def hub_body(self, fields: HubTokenFields, computed: Computed) -> Any:
        """Give back per text what it names, as Transformers' pipeline does."""
        parameters = fields.parameters
        rows = [
            self._names.entities(
                str(text), row, logits.softmax(-1), parameters.aggregation_strategy,
                left_out=parameters.ignore_labels,
            )
            for text, row, logits in zip(
                fields.inputs.texts, computed.rows, computed.outputs, strict=True
            )
        ]  # fmt: skip
        return rows[0] if fields.inputs.is_single else rows

    def _tokens(self, row: Row, scores: Tensor) -> Sequence[dict[str, Any]]:
        each = zip(row.ids, row.offsets, row.special, scores.tolist(), strict=True)
        return [
            {
                "token": self._encoder.token(token), "token_id": token, "start": start, "end": end,
                "results": dict(zip(self._labels, of_token, strict=True)),
            }
            for token, (start, end), is_special, of_token in each
            if not is_special
        ]  # fmt: skip

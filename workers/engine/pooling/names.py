"""Labels of tokens to labels of words and of whole names, by Transformers' own arithmetic."""

from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor
from transformers.pipelines.token_classification import (
    AggregationStrategy,
    TokenClassificationPipeline,
)

from workers.engine.pooling.encoding import Encoder
from workers.engine.pooling.rows import Row

OUTSIDE = "O"
"""The label of tokens that belong to no name."""

Strategy = Literal["none", "simple", "first", "average", "max"]
"""How tokens are joined; all but `simple` first let each word have one label."""


class Names(TokenClassificationPipeline):
    """The pipeline's second half: the model runs elsewhere."""

    def __init__(self, model: Any, encoder: Encoder) -> None:
        self.model = model
        self.tokenizer = encoder.tokenizer
        self._encoder = encoder

    def join(
        self, text: str, row: Row, scores: Tensor, strategy: Strategy
    ) -> Sequence[dict[str, Any]]:
        """Give back what is named in a text, what lies outside left out."""
        pieces = self._pieces(text, row, scores)
        tokens = {piece["start"]: row.ids[piece["index"]] for piece in reversed(pieces)}
        return [
            {
                "token": text[name["start"] : name["end"]], "token_id": tokens[name["start"]],
                "start": name["start"], "end": name["end"],
                "results": {name["entity_group"]: float(name["score"])},
            }
            for name in self.aggregate(pieces, AggregationStrategy(strategy))
            if name["entity_group"] != OUTSIDE
        ]  # fmt: skip

    def entities(
        self, text: str, row: Row, scores: Tensor, strategy: Strategy, *, left_out: Sequence[str]
    ) -> Sequence[dict[str, Any]]:
        """Give back what the pipeline itself answers, but for what is labelled as left out."""
        entities = self.aggregate(self._pieces(text, row, scores), AggregationStrategy(strategy))
        return [
            {**entity, "score": float(entity["score"])} for entity in entities
            if entity.get("entity_group", entity.get("entity")) not in left_out
        ]  # fmt: skip

    def _pieces(self, text: str, row: Row, scores: Tensor) -> list[dict[str, Any]]:
        return [
            {
                "index": index, "word": self._encoder.token(token), "start": start, "end": end,
                "scores": of_token, "is_subword": self._encoder.continues(token, text, start),
            }
            for index, (token, (start, end), special, of_token) in enumerate(
                zip(row.ids, row.offsets, row.special, scores.numpy(), strict=True)
            )
            if not special
        ]  # fmt: skip

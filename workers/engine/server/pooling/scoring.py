"""`/rerank` and `/predict`: bare arrays, as the performance client reads them."""

from collections.abc import Sequence
from typing import Any

from workers.engine.pooling.scores import FUNCTIONS, Function
from workers.engine.server.pooling.compute import Computed
from workers.engine.server.pooling.fields import PredictFields, RerankFields


def ranks(fields: RerankFields, computed: Computed) -> list[dict[str, Any]]:
    """Give back a score per text for one query, in the order in which they were sent."""
    rate = FUNCTIONS["none" if fields.raw_scores else "sigmoid"]
    found: list[dict[str, Any]] = [
        {"index": index, "score": float(rate(output)[0])}
        for index, output in enumerate(computed.outputs)
    ]
    if fields.return_text:
        return [rank | {"text": text} for rank, text in zip(found, fields.texts, strict=True)]
    return found


def labelled(
    labels: Sequence[str], usual: Function, fields: PredictFields, computed: Computed
) -> Any:
    """Give back the labels of each text with their scores, the likeliest first."""
    rate = FUNCTIONS["none" if fields.raw_scores else fields.function_to_apply or usual]
    found = []
    for output in computed.outputs:
        scores = zip(labels, rate(output).tolist(), strict=True)
        each = [{"label": label, "score": score} for label, score in scores]
        found.append(sorted(each, key=lambda one: -one["score"]))
    return found[0] if fields.inputs.is_single else found

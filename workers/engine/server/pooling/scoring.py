"""Scores of texts as the performance client, Cohere and Jina, and the hub's client read them."""

import uuid
from collections.abc import Sequence
from typing import Any

from workers.engine.pooling.scores import FUNCTIONS, Function
from workers.engine.server.pooling.compute import Computed
from workers.engine.server.pooling.fields import (
    DocumentFields,
    HubFields,
    PredictFields,
    RerankFields,
)
from workers.engine.settings import EngineSettings


def ranks(fields: RerankFields, computed: Computed) -> list[dict[str, Any]]:
    """Give back a score per text for one query, in the order in which they were sent."""
    rate = FUNCTIONS["none" if fields.raw_scores else "sigmoid"]
    results: list[dict[str, Any]] = [
        {"index": index, "score": float(rate(output)[0])}
        for index, output in enumerate(computed.outputs)
    ]
    if fields.return_text:
        return [rank | {"text": text} for rank, text in zip(results, fields.texts, strict=True)]
    return results


def ranked_documents(
    settings: EngineSettings, fields: DocumentFields, computed: Computed
) -> dict[str, Any]:
    """Give back the documents by their score, the best first, as Cohere, Jina and vLLM do."""
    scores = [float(output.sigmoid()[0]) for output in computed.outputs]
    best = sorted(range(len(scores)), key=lambda index: -scores[index])[: fields.top_n]
    results: list[dict[str, Any]] = [
        {"index": index, "relevance_score": scores[index]} for index in best
    ]
    if fields.return_documents:
        results = [one | {"document": {"text": fields.documents[one["index"]]}} for one in results]
    return {
        "id": f"rerank-{uuid.uuid4().hex}",
        "model": fields.model or settings.served_model_name,
        "results": results,
        "usage": {"prompt_tokens": computed.tokens, "total_tokens": computed.tokens},
    }


def labelled_for_hub(
    labels: Sequence[str], usual: Function, fields: HubFields, computed: Computed
) -> list[list[dict[str, Any]]]:
    """Give back a list of labels per text, also for one text by itself, the likeliest first."""
    parameters = fields.parameters
    fields = fields.model_copy(
        update={"function_to_apply": parameters.function_to_apply or fields.function_to_apply}
    )
    labels_of_texts = labelled(labels, usual, fields, computed)
    rows = [labels_of_texts] if fields.inputs.is_single else labels_of_texts
    return [row[: parameters.top_k] for row in rows]


def labelled(
    labels: Sequence[str], usual: Function, fields: PredictFields, computed: Computed
) -> Any:
    """Give back the labels of each text with their scores, the likeliest first."""
    rate = FUNCTIONS["none" if fields.raw_scores else fields.function_to_apply or usual]
    rows = []
    for output in computed.outputs:
        scores = zip(labels, rate(output).tolist(), strict=True)
        each = [{"label": label, "score": score} for label, score in scores]
        rows.append(sorted(each, key=lambda one: -one["score"]))
    return rows[0] if fields.inputs.is_single else rows

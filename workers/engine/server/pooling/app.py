"""The HTTP routes of an engine that pools."""

from collections.abc import Iterator
from functools import partial

from starlette.applications import Starlette
from starlette.routing import Route

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.scores import usual_function
from workers.engine.server.errors import error_handlers
from workers.engine.server.pooling.compute import pooling_route
from workers.engine.server.pooling.embeddings import Embeddings, weights
from workers.engine.server.pooling.fields import (
    EmbeddingFields,
    PredictFields,
    RerankFields,
    SparseFields,
    TokenFields,
)
from workers.engine.server.pooling.scoring import labelled, ranks
from workers.engine.server.pooling.token_labels import TokenLabels
from workers.engine.server.status import status_routes
from workers.engine.task import Task


def create_app(engine: PoolingEngine) -> Starlette:
    """Give back the application around a started engine: the routes that its model can answer."""
    return Starlette(
        routes=[*status_routes(engine), *_routes(engine)],
        exception_handlers=error_handlers(has_flat_routes=True),
    )


def _routes(engine: PoolingEngine) -> Iterator[Route]:
    model, encode = engine.model, engine.encoder.encode
    if model.sentence is not None:
        made = Embeddings(engine, model.sentence)
        yield pooling_route("/v1/embeddings", engine, EmbeddingFields, made.rows, made.body)
        if model.sentence.splade is not None:
            yield pooling_route("/embed_sparse", engine, SparseFields, made.sparse_rows, weights)
    if model.task is Task.CLASSIFY:
        yield pooling_route(
            "/predict", engine, PredictFields,
            lambda fields: encode(fields.inputs.texts, fields.cut, field="inputs"),
            partial(labelled, model.labels, usual_function(model.module.config)),
        )  # fmt: skip
        if len(model.labels) == 1:
            yield pooling_route(
                "/rerank", engine, RerankFields,
                lambda fields: encode(fields.pairs, fields.cut, field="texts"), ranks,
            )  # fmt: skip
    if model.task is Task.LABEL_TOKENS:
        tokens = TokenLabels(engine)
        yield pooling_route("/predict_tokens", engine, TokenFields, tokens.rows, tokens.body)

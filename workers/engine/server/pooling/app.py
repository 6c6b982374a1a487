"""The HTTP routes of an engine that pools."""

from collections.abc import Iterator, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.routing import Route

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.scores import usual_function
from workers.engine.server.errors import error_handlers
from workers.engine.server.pooling.compute import Form, pooling_route
from workers.engine.server.pooling.embeddings import Embeddings, weights
from workers.engine.server.pooling.fields import (
    DocumentFields,
    EmbeddingFields,
    EmbedFields,
    HubFields,
    HubTokenFields,
    PredictFields,
    RerankFields,
    SparseFields,
    TokenFields,
)
from workers.engine.server.pooling.scoring import (
    labelled,
    labelled_for_hub,
    ranked_documents,
    ranks,
)
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
    model = engine.model
    if model.sentence is not None:
        yield from _embedding_routes(engine, Embeddings(engine, model.sentence))
    if model.task in (Task.CLASSIFY, Task.RERANK):
        yield from _scoring_routes(engine)
    if model.task is Task.LABEL_TOKENS:
        tokens = TokenLabels(engine)
        form = Form(kind=TokenFields, encode=tokens.rows, body=tokens.body)
        yield pooling_route("/predict_tokens", engine, form)
        hub = Form(kind=HubTokenFields, encode=tokens.rows, body=tokens.hub_body)
        yield pooling_route("/", engine, hub)


def _embedding_routes(engine: PoolingEngine, made: Embeddings) -> Iterator[Route]:
    openai = Form(kind=EmbeddingFields, encode=made.rows, body=made.body)
    bare = Form(kind=EmbedFields, encode=made.bare_rows, body=made.bare_body)
    yield pooling_route("/v1/embeddings", engine, openai)
    yield pooling_route("/embed", engine, bare)
    if made.is_sparse:
        sparse = Form(kind=SparseFields, encode=made.sparse_rows, body=weights)
        yield pooling_route("/embed_sparse", engine, sparse)
    yield pooling_route("/", engine, bare)


def _scoring_routes(engine: PoolingEngine) -> Iterator[Route]:
    encode, labels = engine.encoder.encode, engine.model.labels
    is_answer = engine.model.task is Task.RERANK
    usual = "sigmoid" if is_answer else usual_function(engine.model.module.config)

    def texts(fields: PredictFields) -> Sequence[Row]:
        return encode(fields.inputs.texts, fields.cut, field="inputs")

    predict = Form(kind=PredictFields, encode=texts, body=partial(labelled, labels, usual))
    hub = Form(kind=HubFields, encode=texts, body=partial(labelled_for_hub, labels, usual))
    yield pooling_route("/predict", engine, predict)
    if len(labels) == 1:
        yield from _ranking_routes(engine)
    yield pooling_route("/", engine, hub)


def _ranking_routes(engine: PoolingEngine) -> Iterator[Route]:
    encode = engine.encoder.encode
    by_texts = Form(
        kind=RerankFields, body=ranks,
        encode=lambda fields: encode(
            fields.pairs, fields.cut, field="texts", instruction=fields.instruction
        ),
    )  # fmt: skip
    by_documents = Form(
        kind=DocumentFields, mark="documents", body=partial(ranked_documents, engine.settings),
        encode=lambda fields: encode(
            fields.pairs, fields.cut, field="documents", instruction=fields.instruction
        ),
    )  # fmt: skip
    yield pooling_route("/rerank", engine, by_documents, by_texts)
    yield pooling_route("/v1/rerank", engine, by_documents)
    yield pooling_route("/v2/rerank", engine, by_documents)

"""The HTTP routes of an engine that pools."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.pooling.scores import usual_function
from workers.engine.server.errors import error_handlers
from workers.engine.server.front.bridge import Bridge
from workers.engine.server.front.exchange import Handler
from workers.engine.server.pooling.compute import Form
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
from workers.engine.server.pooling.quick import Quick
from workers.engine.server.pooling.routes import pooling_routes
from workers.engine.server.pooling.scoring import (
    labelled,
    labelled_for_hub,
    ranked_documents,
    ranks,
)
from workers.engine.server.pooling.token_labels import TokenLabels
from workers.engine.server.status import status_routes
from workers.engine.task import Task

Routes = Mapping[str, Sequence[Form[Any]]]
"""By their paths."""


def create_app(engine: PoolingEngine) -> Starlette:
    """Give back the application around a started engine: the routes that its model can answer."""
    forms = forms_of(engine)
    return Starlette(
        routes=[*status_routes(engine), *pooling_routes(forms, lambda: Quick(engine, forms))],
        exception_handlers=error_handlers(has_flat_routes=True),
    )


def create_handler(engine: PoolingEngine) -> Handler:
    """Give back the same for a front, in whose event loop it is called."""
    return Quick(engine, forms_of(engine), Bridge(create_app(engine)))


def forms_of(engine: PoolingEngine) -> Routes:
    model = engine.model
    forms: dict[str, Sequence[Form[Any]]] = {}
    if model.sentence is not None:
        forms |= _embedding_forms(Embeddings(engine, model.sentence))
    if model.task in (Task.CLASSIFY, Task.RERANK):
        forms |= _scoring_forms(engine)
    if model.task is Task.LABEL_TOKENS:
        tokens = TokenLabels(engine)
        forms["/predict_tokens"] = [Form(kind=TokenFields, encode=tokens.rows, body=tokens.body)]
        forms["/"] = [Form(kind=HubTokenFields, encode=tokens.rows, body=tokens.hub_body)]
    return forms


def _embedding_forms(made: Embeddings) -> Routes:
    openai = Form(kind=EmbeddingFields, encode=made.rows, body=made.body)
    bare = Form(kind=EmbedFields, encode=made.bare_rows, body=made.bare_body)
    sparse = Form(kind=SparseFields, encode=made.sparse_rows, body=weights)
    return {
        "/v1/embeddings": [openai], "/embed": [bare],
        **({"/embed_sparse": [sparse]} if made.is_sparse else {}), "/": [bare],
    }  # fmt: skip


def _scoring_forms(engine: PoolingEngine) -> Routes:
    encode, labels = engine.encoder.encode, engine.model.labels
    is_answer = engine.model.task is Task.RERANK
    usual = "sigmoid" if is_answer else usual_function(engine.model.module.config)

    def texts(fields: PredictFields) -> Sequence[Row]:
        return encode(fields.inputs.texts, fields.cut, field="inputs")

    predict = Form(kind=PredictFields, encode=texts, body=partial(labelled, labels, usual))
    hub = Form(kind=HubFields, encode=texts, body=partial(labelled_for_hub, labels, usual))
    ranking = _ranking_forms(engine) if len(labels) == 1 else {}
    return {"/predict": [predict], **ranking, "/": [hub]}


def _ranking_forms(engine: PoolingEngine) -> Routes:
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
    return {
        "/rerank": [by_documents, by_texts], "/v1/rerank": [by_documents],
        "/v2/rerank": [by_documents],
    }  # fmt: skip

"""The HTTP routes of an engine that pools."""

from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.routing import Route

from workers.engine.pooling.engine import PoolingEngine
from workers.engine.server.errors import error_handlers
from workers.engine.server.pooling.embeddings import EmbeddingRoutes
from workers.engine.server.pooling.scoring import ScoreRoutes
from workers.engine.server.pooling.token_labels import TokenRoutes
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
        made = EmbeddingRoutes(engine, model.sentence)
        yield Route("/v1/embeddings", made.embeddings, methods=["POST"])
        if model.sentence.splade is not None:
            yield Route("/embed_sparse", made.embed_sparse, methods=["POST"])
    if model.task is Task.CLASSIFY:
        scores = ScoreRoutes(engine)
        yield Route("/predict", scores.predict, methods=["POST"])
        if len(model.labels) == 1:
            yield Route("/rerank", scores.rerank, methods=["POST"])
    if model.task is Task.LABEL_TOKENS:
        yield Route("/predict_tokens", TokenRoutes(engine).predict_tokens, methods=["POST"])

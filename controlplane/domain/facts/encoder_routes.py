"""Where a model that makes no text is asked."""

from collections.abc import Mapping

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoint_facts import CheckpointFacts

EMBEDDINGS_ROUTE = "/v1/embeddings"

PREDICT_ROUTE = "/predict"
TOKENS_ROUTE = "/predict_tokens"
RERANK_ROUTE = "/rerank"

_BY_ROLE: Mapping[Role, tuple[str, ...]] = {
    Role.EMBEDDING: (EMBEDDINGS_ROUTE, "/v1/systemone"),
    Role.TOKEN_CLASSIFICATION: (TOKENS_ROUTE,),
    Role.RERANKING: (RERANK_ROUTE, PREDICT_ROUTE),
}
_LOGIT_SCORE = "_LogitScore/"
"""The folder in which sentence-transformers says which token's score it is."""


def default_route(checkpoint: CheckpointFacts) -> str:
    """Return the route behind `predict`, for a config that names none.

    A classifier of one label scores how well a text fits a query: it ranks.
    """
    return next(iter(fitting_routes(checkpoint)), EMBEDDINGS_ROUTE)


def fitting_routes(checkpoint: CheckpointFacts) -> tuple[str, ...]:
    if checkpoint.role is not Role.SEQUENCE_CLASSIFICATION:
        return _BY_ROLE.get(checkpoint.role, ())
    if checkpoint.labels == 1:
        return (RERANK_ROUTE, PREDICT_ROUTE)
    return (PREDICT_ROUTE,) if checkpoint.labels else (PREDICT_ROUTE, RERANK_ROUTE)


def ranks_by_token(checkpoint: CheckpointFacts) -> bool:
    """Return whether its files say which token's score is the rank of a text."""
    return any(_LOGIT_SCORE in name for name in checkpoint.files)

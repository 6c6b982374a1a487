"""Where a model that makes no text is asked."""

from collections.abc import Mapping

from controlplane.domain.facts.architectures import Role

EMBEDDINGS_ROUTE = "/v1/embeddings"

RERANK_ROUTE = "/rerank"

_BY_ROLE: Mapping[Role, str] = {
    Role.SEQUENCE_CLASSIFICATION: "/predict",
    Role.TOKEN_CLASSIFICATION: "/predict_tokens",
    Role.RERANKING: RERANK_ROUTE,
}


def default_route(role: Role) -> str:
    """Return the route behind `predict`, for a config that names none."""
    return _BY_ROLE.get(role, EMBEDDINGS_ROUTE)

"""Where vLLM's pooling runner answers: by what the model does, and not at the hosted routes.

Source: vLLM `entrypoints/pooling/factories.py` and the files `api_router.py` below it, read
2026-11-30; vectors, ranks and labels seen there 2026-11-29 (`docs/evidence.md`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts

PREDICT, PREDICT_TOKENS = "/predict", "/predict_tokens"
CLASSIFY, POOLING, RERANK = "/classify", "/pooling", "/rerank"
INSTEAD: Mapping[str, str] = MappingProxyType({PREDICT: CLASSIFY, PREDICT_TOKENS: POOLING})
"""The hosted product's route -> the one at which vLLM gives the same."""


def predict_route(asked: str | None, checkpoint: CheckpointFacts) -> str:
    """Return the route behind `predict`."""
    if asked is not None:
        return INSTEAD.get(asked, asked)
    if checkpoint.role is Role.TOKEN_CLASSIFICATION:
        return POOLING
    if checkpoint.role is not Role.SEQUENCE_CLASSIFICATION:
        return "/v1/embeddings"
    return RERANK if checkpoint.labels == 1 else CLASSIFY

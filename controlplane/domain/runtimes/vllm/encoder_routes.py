"""Where vLLM's pooling runner answers: by what the model does, and not at the hosted routes.

Source: vLLM `entrypoints/pooling/factories.py` and the files `api_router.py` below it, read
2026-11-30; vectors, ranks and labels seen there 2026-11-29 (`docs/evidence.md`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.encoder_routes import PREDICT_ROUTE, TOKENS_ROUTE, default_route

INSTEAD: Mapping[str, str] = MappingProxyType(
    {PREDICT_ROUTE: "/classify", TOKENS_ROUTE: "/pooling"}
)
"""The hosted product's route -> the one at which vLLM gives the same."""


def predict_route(route: str | None, checkpoint: CheckpointFacts) -> str:
    chosen = route or default_route(checkpoint)
    return INSTEAD.get(chosen, chosen)

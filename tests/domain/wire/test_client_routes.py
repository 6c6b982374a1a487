"""Which routes clients may call, held to what clients of the hosted product do call."""

import pytest

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import open_routes
from controlplane.domain.wire.client_routes import HOSTED, POST, READ

UNDER_SYNC = {
    "/v1/chat/completions": POST,
    "/v1/completions": POST,
    "/v1/embeddings": POST,
    "/rerank": POST,
    "/predict": POST,
    "/predict_tokens": POST,
    "/health": READ,
    "/v1/models": READ,
    "/metrics": READ,
}
"""Of the hosted product's reference of its inference API, as read on 2026-08-22."""
CLOSED = (
    "/pause", "/resume", "/abort_requests", "/scale_elastic_ep", "/init_weight_transfer_engine",
    "/invocations", "/v1/load_lora_adapter", "/collective_rpc", "/sleep", "/wake_up",
    "/reset_prefix_cache", "/server_info", "/update_weights", "/release_memory", "/kv_cache_events",
    "/perf_metrics", "/prometheus/metrics", "/docs", "/openapi.json", "/start_profile",
)  # fmt: skip


def test_what_the_hosted_product_has_under_sync_is_open_and_nothing_else_is_by_itself() -> None:
    assert dict(HOSTED) == UNDER_SYNC


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
@pytest.mark.parametrize("version", [None, "0.1", "0.25", "1.2", "99.0"])
def test_every_runtime_has_these_in_every_version_and_nothing_of_its_operators(
    runtime: str, version: str | None
) -> None:
    table = open_routes(runtime, version).routes
    assert table.items() >= UNDER_SYNC.items()
    assert not table.keys() & set(CLOSED)

"""Which routes of an engine clients may call: by runtime and version, and nothing besides."""

import pytest

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import borrowed_routes, nearest_version, open_routes
from controlplane.domain.wire.client_routes import HOSTED

# Source: the hosted product's routes under `sync/`, one line each.
UNDER_SYNC = {
    "/v1/chat/completions": "POST", "/v1/completions": "POST", "/v1/embeddings": "POST",
    "/rerank": "POST", "/predict": "POST", "/predict_tokens": "POST", "/health": "GET",
    "/v1/models": "GET", "/metrics": "GET",
}  # fmt: skip
NEVER = [
    "pause", "resume", "abort_requests", "scale_elastic_ep", "init_weight_transfer_engine",
    "update_weights", "sleep", "wake_up", "collective_rpc", "reset_prefix_cache",
    "v1/load_lora_adapter", "v1/unload_lora_adapter", "start_profile", "release_memory",
    "resume_memory", "kv_cache_events", "v1/kv_cache_hints", "perf_metrics", "steady_clock_offset",
    "server_info", "invocations", "docs", "openapi.json",
]  # fmt: skip


@pytest.mark.parametrize("runtime", [*RUNTIMES, "another"])
def test_every_route_of_the_hosted_product_is_open_on_every_runtime(runtime: str) -> None:
    assert set(HOSTED) == set(UNDER_SYNC)
    routes = open_routes(runtime).routes
    assert all(method in routes[path] for path, method in UNDER_SYNC.items())


@pytest.mark.parametrize("runtime", [*RUNTIMES, "another"])
def test_what_changes_an_engine_or_drains_its_counters_is_on_no_list(runtime: str) -> None:
    assert not {f"/{name}" for name in NEVER} & open_routes(runtime).routes.keys()


@pytest.mark.parametrize(
    ("version", "of_version"),
    [
        (None, "0.25"), ("0.25", "0.25"), ("0.25.1", "0.25"), ("0.33.0", "0.25"), ("1.0", "0.25"),
        ("0.9", "0.25"), ("0.27.1+cu130", "0.25"), ("dev", "0.25"), ("", "0.25"),
    ],
)  # fmt: skip
def test_a_version_takes_the_list_of_the_nearest_one_below(version: str, of_version: str) -> None:
    assert open_routes("vllm", version).of_version == of_version


def test_the_nearest_one_below_is_found_by_numbers_and_not_by_letters() -> None:
    requests = ("0.9.3", "0.11", "0.30", "0.1")
    outcome = {each: nearest_version(("0.9", "0.10", "0.25"), each) for each in requests}
    assert outcome == {"0.9.3": "0.9", "0.11": "0.10", "0.30": "0.25", "0.1": "0.9"}


def test_a_runtime_without_a_table_has_the_hosted_routes_alone() -> None:
    assert open_routes("another").routes == HOSTED
    assert open_routes("another").of_version is None


@pytest.mark.parametrize("version", ["0.27.1", "0.9", "1.0", "dev"])
def test_a_version_that_takes_anothers_list_says_whose_and_what_that_means(version: str) -> None:
    statement = borrowed_routes("vllm", version)
    assert statement.startswith(f"vLLM `{version}` has no list of routes of its own")
    assert "`0.25`" in statement
    assert "404" in statement
    assert "`enginehouse.extra_routes`" in statement


@pytest.mark.parametrize(
    ("runtime", "version"),
    [("vllm", "0.25"), ("vllm", "0.25.1"), ("trtllm", "1.2.0rc1"), ("another", "1.0")],
)
def test_a_version_with_a_list_of_its_own_says_nothing(runtime: str, version: str) -> None:
    assert borrowed_routes(runtime, version) == ""

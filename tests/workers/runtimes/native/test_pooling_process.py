"""A real engine process that pools, asked by the clients that people use."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import torch
from baseten_performance_client import PerformanceClient, RequestProcessingPreference

from tests.workers.engine.pooling.encoders import make_encoder
from tests.workers.engine.pooling.minilm import minilm
from tests.workers.runtimes.native.server import PATIENCE_SECONDS, EngineServer, refusal

pytestmark = pytest.mark.engine
TEXTS = [f"text number {number} " + "and more " * (number % 9) for number in range(50)]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    with EngineServer(minilm(), log=tmp_path_factory.mktemp("log") / "engine.log") as server:
        yield server


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    """Slow, and busy with two requests; the last test stops it."""
    base = tmp_path_factory.mktemp("reranker")
    folder = make_encoder("Bert", base / "model", head="ForSequenceClassification", num_labels=1)
    with EngineServer(
        folder, log=base / "engine.log", step_delay_seconds=0.3,
        options=("--task", "pool", "--max-concurrent-requests", "2"),
    ) as server:  # fmt: skip
        yield server


def performance_client(server: EngineServer) -> PerformanceClient:
    return PerformanceClient(base_url=server.url, api_key="none")


def preference(**how: Any) -> RequestProcessingPreference:
    return RequestProcessingPreference(**how)


def test_openais_client_and_the_performance_client_read_the_same_vectors(
    embedder: EngineServer,
) -> None:
    answer = embedder.openai.embeddings.create(model="any", input=TEXTS)
    floats = embedder.openai.embeddings.create(
        model="any", input=TEXTS[:2], encoding_format="float", dimensions=7
    )
    response = performance_client(embedder).embed(
        input=TEXTS, model="any",
        preference=preference(batch_size=8, max_concurrent_requests=4),
    )  # fmt: skip
    vectors = torch.tensor([each.embedding for each in answer.data])
    assert vectors.shape == (50, 384)
    torch.testing.assert_close(torch.from_numpy(response.numpy()), vectors, atol=1e-5, rtol=0)
    assert [each.index for each in answer.data] == list(range(50))
    assert response.usage.total_tokens == answer.usage.total_tokens == answer.usage.prompt_tokens
    assert [len(each.embedding) for each in floats.data] == [7, 7]


def test_an_embedder_reports_what_it_is_and_what_it_does(embedder: EngineServer) -> None:
    before = embedder.metric("engine_prompt_tokens_total")
    tokens = embedder.openai.embeddings.create(model="x", input="one two").usage.prompt_tokens
    info, models = embedder.http.get("/info").json(), embedder.http.get("/v1/models").json()
    assert embedder.http.get("/health").json() == {"status": "ready"}
    assert (info["task"], info["pooling"], info["max_seq_len"]) == ("embed", "mean", 256)
    assert info["weights_bytes"] == 90_852_864
    assert [each["id"] for each in models["data"]] == ["tiny"]
    assert embedder.metric("engine_prompt_tokens_total") == before + tokens
    assert embedder.metric("engine_end_to_end_seconds_count") >= 1
    assert embedder.metric("engine_requests_running") == 0


def test_routes_that_the_checkpoint_does_not_serve_are_named_with_those_that_it_does(
    embedder: EngineServer,
) -> None:
    flat = embedder.post("/rerank", query="a", texts=["b"])
    openai = embedder.post("/v1/chat/completions", messages=[])
    assert (flat.status_code, openai.status_code) == (404, 404)
    assert "/v1/embeddings" in flat.json()["error"]
    assert "/v1/embeddings" in openai.json()["error"]["message"]


def test_the_performance_client_reranks_and_classifies_through_a_busy_engine(
    reranker: EngineServer,
) -> None:
    client = performance_client(reranker)
    wide = preference(batch_size=4, max_concurrent_requests=6, max_chars_per_request=256_000)
    ranked = client.rerank(query="one", texts=TEXTS[:12], return_text=True, preference=wide)
    classified = client.classify(inputs=TEXTS[:4], preference=wide)
    assert [each.text for each in sorted(ranked.data, key=lambda each: each.index)] == TEXTS[:12]
    assert all(0 < each.score < 1 for each in ranked.data)
    assert [[each.label for each in row] for row in classified.data] == [["LABEL_0"]] * 4


def test_a_full_engine_answers_429_and_a_drained_one_has_answered_everybody(
    reranker: EngineServer,
) -> None:
    def ask(text: str) -> httpx.Response:
        return reranker.post("/predict", inputs=[[text]])

    refused = refusal(lambda: ask("three"), clients=3)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(ask, text) for text in ("one", "two " * 40)]
        reranker.wait_until_let_in(waiting)
        reranker.process.send_signal(signal.SIGTERM)
        answers = [each.result() for each in waiting]
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["error_type"] == "rate_limit_error"
    assert [answer.status_code for answer in answers] == [200, 200]
    assert reranker.process.wait(PATIENCE_SECONDS) == 0

"""A real engine process that pools, asked by the clients that people use."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import torch
from baseten_performance_client import PerformanceClient, RequestProcessingPreference
from huggingface_hub import InferenceClient

from controlplane.traces.spans import new_span_id, new_trace_id, traceparent_of
from tests.gates import Gates
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.webhook_receiver import WebhookReceiver
from tests.workers.engine.pooling.encoders import make_encoder
from tests.workers.engine.pooling.minilm import minilm
from tests.workers.runtimes.native.collected import spans_in
from tests.workers.runtimes.native.server import EngineServer, Steps

pytestmark = [pytest.mark.process, pytest.mark.engine]
TEXTS = [f"text number {number} " + "and more " * (number % 9) for number in range(50)]


@pytest.fixture(scope="module")
def embedder(
    tmp_path_factory: pytest.TempPathFactory, collector: WebhookReceiver
) -> Iterator[EngineServer]:
    log, report = tmp_path_factory.mktemp("log") / "engine.log", {"TRACES_URL": collector.url("")}
    with EngineServer(minilm(), log=log, environment=report) as server:
        yield server


@pytest.fixture(scope="module")
def gates() -> Iterator[Gates]:
    """The gates of the engine that reranks."""
    with Gates() as outcome:
        yield outcome


@pytest.fixture(scope="module")
def reranker(gates: Gates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    """Busy with two requests; nobody ends it."""
    with _reranking(tmp_path_factory.mktemp("reranker"), gates) as server:
        yield server


def _reranking(base: Path, gates: Gates) -> EngineServer:
    folder = make_encoder("Bert", base / "model", head="ForSequenceClassification", num_labels=1)
    return EngineServer(
        folder, log=base / "engine.log", environment=gates.environment,
        options=("--task", "pool", "--max-concurrent-requests", "2"),
    )  # fmt: skip


def preference(**how: Any) -> RequestProcessingPreference:
    return RequestProcessingPreference(**how)


def test_of_vectors_the_engines_whole_time_is_told(
    embedder: EngineServer, collector: WebhookReceiver
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    trace_id, above = new_trace_id(), new_span_id()
    headers = {"traceparent": traceparent_of(trace_id, above)}
    answer = embedder.http.post("/v1/embeddings", json={"input": "a"}, headers=headers)
    assert answer.status_code == 200
    wait_for(lambda: spans_in(collector, trace_id), what="spans")
    (engine,) = spans_in(collector, trace_id)
    assert (engine.name, engine.parent_span_id.hex()) == ("engine", above)


def test_openais_client_and_the_performance_client_read_the_same_vectors(
    embedder: EngineServer,
) -> None:
    answer = embedder.openai.embeddings.create(model="any", input=TEXTS)
    floats = embedder.openai.embeddings.create(
        model="any", input=TEXTS[:2], encoding_format="float", dimensions=7
    )
    response = PerformanceClient(base_url=embedder.url, api_key="none").embed(
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


def test_the_hubs_client_reads_the_vectors_of_openais(embedder: EngineServer) -> None:
    texts = ["one text", "another"]
    expected = [
        each.embedding
        for each in embedder.openai.embeddings.create(
            model="any", input=texts, encoding_format="float"
        ).data
    ]
    client = InferenceClient(embedder.url)
    feature_extraction = client.feature_extraction(texts, truncate=True)
    torch.testing.assert_close(
        torch.from_numpy(feature_extraction).tolist(), expected, atol=1e-6, rtol=0
    )
    bare = embedder.post("/embed", inputs=texts[0], dimensions=7, normalize=True).json()
    assert [len(vector) for vector in bare] == [7]
    assert sum(number**2 for number in bare[0]) == pytest.approx(1, abs=1e-5)
    refused = embedder.post("/embed", inputs="a", normalize=False)
    assert (refused.status_code, refused.json()["param"]) == (422, "normalize")
    assert embedder.http.get("/info").json()["model_type"] == {"embedding": {"pooling": "mean"}}


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_documents_are_ranked_in_the_shape_of_cohere_and_jina(
    reranker: EngineServer, path: str
) -> None:
    in_order = reranker.post("/rerank", query="one", texts=TEXTS[:5]).json()
    documents = [{"text": TEXTS[0]}, *TEXTS[1:5]]
    answer = reranker.post(path, query="one", documents=documents, top_n=3, model="any").json()
    best = sorted(in_order, key=lambda each: -each["score"])[:3]
    assert [(each["index"], each["relevance_score"]) for each in answer["results"]] == [
        (each["index"], pytest.approx(each["score"], abs=1e-6)) for each in best
    ]
    assert [each["document"]["text"] for each in answer["results"]] == [
        TEXTS[each["index"]] for each in best
    ]
    assert answer["usage"]["total_tokens"] > 0
    bare = reranker.post(path, query="one", documents=TEXTS[:2], return_documents=False).json()
    assert all("document" not in each for each in bare["results"])
    refused = reranker.post(path, query="one", documents=[{"title": "no text"}])
    param = refused.json().get("param") or refused.json()["error"]["param"]
    assert param == "documents.0"


def test_the_hubs_client_reads_labels(reranker: EngineServer) -> None:
    (label,) = InferenceClient(reranker.url).text_classification("one text", top_k=1)
    (expected,) = reranker.post("/predict", inputs="one text").json()
    assert (label.label, label.score) == (expected["label"], pytest.approx(expected["score"]))
    (model_type,) = reranker.http.get("/info").json()["model_type"].items()
    assert model_type == ("reranker", {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}})


def test_routes_that_the_checkpoint_does_not_serve_are_named_with_those_that_it_does(
    embedder: EngineServer,
) -> None:
    flat = embedder.post("/rerank", query="a", texts=["b"])
    openai = embedder.post("/v1/chat/completions", messages=[])
    assert (flat.status_code, openai.status_code) == (404, 404)
    assert "/v1/embeddings" in flat.json()["error"]
    assert "/v1/embeddings" in openai.json()["error"]["message"]


def test_the_performance_client_reranks_and_classifies_through_a_busy_engine(
    reranker: EngineServer, gates: Gates
) -> None:
    wide = preference(batch_size=4, max_concurrent_requests=6, max_chars_per_request=256_000)
    with between(reranker) as middle, ThreadPoolExecutor(1) as pool:
        client = PerformanceClient(base_url=middle.url, api_key="none")
        with Steps(gates):
            future = pool.submit(
                client.rerank, query="one", texts=TEXTS[:12], return_text=True, preference=wide
            )
            # Three requests where two have room.
            wait_for(lambda: 429 in middle.statuses, what="a refusal")
        ranked = future.result()
        classified = client.classify(inputs=TEXTS[:4], preference=wide)
    assert [each.text for each in sorted(ranked.data, key=lambda each: each.index)] == TEXTS[:12]
    assert all(0 < each.score < 1 for each in ranked.data)
    assert [[each.label for each in row] for row in classified.data] == [["LABEL_0"]] * 4


def test_a_full_engine_answers_429_and_a_drained_one_has_answered_everybody(
    gates: Gates, tmp_path: Path
) -> None:
    with _reranking(tmp_path, gates) as server, ThreadPoolExecutor(2) as pool:

        def ask(text: str) -> httpx.Response:
            return server.post("/predict", inputs=[[text]])

        with Steps(gates):
            waiting = [pool.submit(ask, text) for text in ("one", "two " * 40)]
            wait_for(lambda: server.requests() == 2, what="both to be let in")
            refused = ask("three")
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not server.listens(), what="the drain to begin")
        answers = [each.result() for each in waiting]
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error_type"] == "rate_limit_error"
        assert [answer.status_code for answer in answers] == [200, 200]
        assert server.process.wait(DEADLINE_SECONDS) == 0


class Middle(ThreadingHTTPServer):
    """Passes requests on to an engine, and keeps the statuses that it answers with."""

    def __init__(self, engine: EngineServer) -> None:
        super().__init__(("127.0.0.1", 0), PassingOn)
        self.engine, self.url = engine, f"http://127.0.0.1:{self.server_port}"
        self.statuses: list[int] = []


class PassingOn(BaseHTTPRequestHandler):
    server: Middle

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.engine.http.post(self.path, content=content)
        self.send_response(answer.status_code)
        for name in ("Content-Type", "Content-Length", "Retry-After"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.end_headers()
        self.wfile.write(answer.content)
        self.server.statuses.append(answer.status_code)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def between(engine: EngineServer) -> Iterator[Middle]:
    """Stand between a client and the engine."""
    with Middle(engine) as middle:
        thread = Thread(target=middle.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield middle
        finally:
            middle.shutdown()
            thread.join()

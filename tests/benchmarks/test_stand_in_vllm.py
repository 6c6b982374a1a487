"""The stand-in of vLLM's pooling server has vLLM's routes and the shapes that were recorded."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.waiting import wait_for
from workers.runtimes.ports import free_port

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "benchmarks/gpu/rehearsal/stand_in_vllm.py"
EVERY_ROUTE = {
    "/v1/embeddings": {"input": ["a"]},
    "/classify": {"input": ["a"]},
    "/pooling": {"input": ["a"]},
    "/rerank": {"query": "a", "documents": ["b"]},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
    "/score": {"text_1": "a", "text_2": ["b"]},
    "/predict": {"inputs": [["a"]]},
    "/predict_tokens": {"inputs": [["a"]]},
    "/v1/completions": {"prompt": "a"},
    "/v1/chat/completions": {"messages": []},
}
SCORING = {"/rerank", "/v1/rerank", "/score"}


@contextmanager
def pooling_server(folder: Path, architecture: str, labels: int) -> Iterator[httpx2.Client]:
    named = {str(number): f"LABEL_{number}" for number in range(labels)}
    config = {"architectures": [architecture], "id2label": named}
    (folder / "config.json").write_text(json.dumps(config))
    port = free_port("127.0.0.1")
    command = [
        sys.executable, str(STAND_IN), "-m", "vllm.entrypoints.cli.main", "serve", str(folder),
        "--host", "127.0.0.1", "--port", str(port), "--served-model-name", "tiny",
        "--runner", "pooling",
    ]  # fmt: skip
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as process,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        try:
            wait_for(lambda: answers(client), what="the stand-in")
            yield client
        finally:
            process.terminate()


def answers(client: httpx2.Client) -> bool:
    try:
        return client.get("/health").status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.parametrize(
    ("architecture", "labels", "has"),
    [
        ("BertModel", 2, {"/v1/embeddings", "/pooling", *SCORING}),
        ("BertForSequenceClassification", 1, {"/classify", "/pooling", *SCORING}),
        ("BertForSequenceClassification", 2, {"/classify", "/pooling"}),
        ("BertForTokenClassification", 2, {"/pooling"}),
    ],
)
def test_what_vllm_has_no_route_for_is_not_found(
    architecture: str, labels: int, has: set[str], tmp_path: Path
) -> None:
    with pooling_server(tmp_path, architecture, labels) as client:
        by_route = {
            route: client.post(route, json=body).status_code for route, body in EVERY_ROUTE.items()
        }
        refused = client.post(next(iter(has)), json={"inputs": [["a"]]})
    assert by_route == {route: 200 if route in has else 404 for route in EVERY_ROUTE}
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("stage", "architecture", "labels", "route"),
    [
        ("embedder", "BertModel", 2, "/v1/embeddings"),
        ("reranker", "BertForSequenceClassification", 1, "/rerank"),
        ("classifier", "BertForSequenceClassification", 2, "/classify"),
    ],
)
def test_answers_have_the_fields_that_were_recorded(
    stage: str, architecture: str, labels: int, route: str, tmp_path: Path
) -> None:
    kept = json.loads((ROOT / f"benchmarks/results/{stage}-h200-2026-11-29.json").read_text())
    with pooling_server(tmp_path, architecture, labels) as client:
        answer = client.post(route, json=EVERY_ROUTE[route]).json()
    if stage == "embedder":
        answer.pop("data")  # the vectors are not kept
    assert fields(answer) == fields(kept["answer"])


def fields(answer: Any) -> Any:
    """The names of an answer, its values left out; of a list its first entry's."""
    if isinstance(answer, dict):
        return {name: fields(each) for name, each in answer.items()}
    if isinstance(answer, list) and answer and isinstance(answer[0], dict):
        return [fields(answer[0])]
    return None

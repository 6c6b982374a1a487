"""Clients reach a real engine that pools through the gateway, and what they read is metered."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from baseten_performance_client import PerformanceClient
from huggingface_hub import InferenceClient
from openai import NotFoundError, OpenAI

from tests.workers.engine.pooling.encoders import make_encoder
from tests.workers.gateway.stage.routes import KEY, NATIVE
from tests.workers.runtimes.native.server import EngineServer

pytestmark = [pytest.mark.engine, pytest.mark.process]
TEXTS = ["Paris is the capital of France.", "Bananas are yellow.", "one " * 20]


@pytest.fixture
def sync(house, tmp_path: Path) -> Iterator[str]:
    """The base of a deployment's own routes; its engine ranks."""
    folder = make_encoder(
        "Bert", tmp_path / "model", head="ForSequenceClassification", num_labels=1
    )
    with EngineServer(folder, log=tmp_path / "engine.log") as server:
        house.publish(server, predict_route="/rerank", route_table=NATIVE)
        yield f"{house.gateway().url}/m/modelaaa/environments/production/sync"


def test_scores_come_through_and_are_metered_and_refusals_are_in_the_clients_shape(
    house, sync: str, http
) -> None:
    client = PerformanceClient(base_url=sync, api_key=KEY)
    ranked = client.rerank(query="capital", texts=TEXTS)
    labels = client.classify(inputs=TEXTS)
    assert sorted(each.index for each in ranked.data) == [0, 1, 2]
    assert [[each.label for each in row] for row in labels.data] == [["LABEL_0"]] * 3

    default = http.post(sync.replace("/sync", "/predict"), json={"query": "a", "texts": TEXTS})
    record = house.record_of(default)
    assert [each["index"] for each in default.json()] == [0, 1, 2]
    assert record["route"] == "/rerank"
    assert record["prompt_tokens"] == int(default.headers["x-compute-tokens"]) > 0

    (label,) = InferenceClient(sync, token=KEY).text_classification("one")
    assert label.label == "LABEL_0"
    cohere = http.post(f"{sync}/v1/rerank", json={"query": "a", "documents": TEXTS, "top_n": 1})
    assert len(cohere.json()["results"]) == 1
    assert house.record_of(cohere)["prompt_tokens"] == cohere.json()["usage"]["total_tokens"]

    refused = http.post(f"{sync}/rerank", json={"query": "a", "texts": []})
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("`texts`")

    with (
        OpenAI(base_url=f"{sync}/v1", api_key=KEY, max_retries=0) as openai,
        pytest.raises(NotFoundError, match="This model answers at /predict, /rerank"),
    ):
        openai.embeddings.create(model="any", input="a")

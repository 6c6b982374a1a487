"""The code of a deployment's page, pasted as it is, against a real engine behind a real gateway."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apps.deployments.addresses import Address
from apps.deployments.models import Deployment, ServedModel
from apps.deployments.snippets import snippets_of
from controlplane.domain.rules.examples import facts
from tests.pasted import run_pasted
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from tests.workers.gateway.stage.routes import KEY
from tests.workers.runtimes.native.server import EngineServer

pytestmark = [pytest.mark.engine, pytest.mark.process]
RANKER = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
CLASSIFIER = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "a", "1": "b"}}
EMBEDDER = {"architectures": ["BertModel"]}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    """One label: it ranks, and it classifies."""
    base = tmp_path_factory.mktemp("ranker")
    folder = make_encoder("Bert", base / "model", head="ForSequenceClassification", num_labels=1)
    with EngineServer(folder, log=base / "engine.log") as server:
        yield server


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    base = tmp_path_factory.mktemp("embedder")
    folder = make_encoder("Bert", base / "model")
    write_sentence_files(folder, {"pooling_mode_mean_tokens": True})
    with EngineServer(folder, log=base / "engine.log") as server:
        yield server


def snippets(url: str, settings: Any, checkpoint: dict[str, Any]) -> dict[str, str]:
    """Return the code of a deployment that the gateway at `url` routes to."""
    settings.GATEWAY_URL = url
    deployment = Deployment(
        id="deploy01",
        runtime="native",
        model=ServedModel(id="modelaaa", name="answers"),
        spec={"trt_llm": {"build": {"base_model": "encoder_bert"}}},
        checkpoint=facts(**checkpoint).model_dump(mode="json"),
    )
    return snippets_of(Address(deployment=deployment, environment="production"))


def said(codes: dict[str, str]) -> dict[str, str]:
    return {language: run_pasted(language, code, key=KEY) for language, code in codes.items()}


def test_a_rerankers_and_a_classifiers_code_works_when_pasted(
    house, ranker: EngineServer, settings
) -> None:
    house.publish(ranker, predict_route="/rerank")
    url = house.gateway().url
    ranked = said(snippets(url, settings, RANKER))
    for language in ("curl", "javascript"):
        assert {each["index"] for each in json.loads(ranked[language])} == {0, 1}
    assert "'index': 0" in ranked["python"]
    assert "(0, " in ranked["performance"]
    labels = said(snippets(url, settings, CLASSIFIER))
    for language in ("curl", "javascript"):
        assert [row[0]["label"] for row in json.loads(labels[language])] == ["LABEL_0"] * 2
    assert labels["python"].count("LABEL_0") == labels["performance"].count("LABEL_0") == 2


def test_an_embedders_code_works_when_pasted(house, embedder: EngineServer, settings) -> None:
    house.publish(embedder, predict_route="/v1/embeddings")
    vectors = said(snippets(house.gateway().url, settings, EMBEDDER))
    for language in ("curl", "javascript"):
        rows = [each["embedding"] for each in json.loads(vectors[language])["data"]]
        width = len(rows[0])
        assert len(rows) == 2
    assert vectors["python"] == f"2 vectors of {width} numbers\n"
    assert vectors["performance"] == f"(2, {width})\n"

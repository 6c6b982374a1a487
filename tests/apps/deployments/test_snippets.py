"""The code on a deployment's page asks the route that its model answers at."""

import ast
import json

import pytest

from apps.deployments.snippets import snippets_of
from controlplane.domain.rules.examples import facts
from tests.factories import make_deployment

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("architecture", "labels", "route", "call"),
    [
        ("BertModel", {}, "/v1/embeddings", "client.embed("),
        ("BertForSequenceClassification", {"0": "a"}, "/rerank", "client.rerank("),
        ("BertForSequenceClassification", {"0": "a", "1": "b"}, "/predict", "client.classify("),
        ("BertForTokenClassification", {"0": "O"}, "/predict_tokens", "client.batch_post("),
    ],
)
def test_an_encoder_is_asked_for_what_it_makes(
    architecture: str, labels: dict[str, str], route: str, call: str
) -> None:
    deployment = make_deployment(environment="production")
    deployment.spec["trt_llm"] = {"build": {"base_model": "encoder_bert"}}
    found = facts(architectures=[architecture], id2label=labels)
    deployment.checkpoint = found.model_dump(mode="json")
    snippets = snippets_of(deployment)
    url, body = snippets["curl"].split()[1], snippets["curl"].rpartition(" -d ")[2]
    assert url.endswith(f"/m/{deployment.model_id}/environments/production/sync{route}")
    assert json.loads(body.strip("'"))["model"] == deployment.model.name
    assert call in snippets["python"]
    ast.parse(snippets["python"])


def test_a_language_model_is_asked_to_say_something() -> None:
    snippets = snippets_of(make_deployment(environment="production"))
    assert "/sync/v1/chat/completions" in snippets["curl"]
    ast.parse(snippets["python"])

"""The code on a deployment's page asks the route that its model answers at."""

import ast
import json
import shlex

import pytest

from apps.deployments.addresses import Address, addresses_of
from apps.deployments.models import Deployment
from apps.deployments.snippets import snippets_of
from controlplane.domain.rules.examples import facts
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment

pytestmark = pytest.mark.django_db
LANGUAGES = {"curl", "python", "javascript", "performance"}


def first_of(deployment: Deployment) -> Address:
    return addresses_of(deployment)[0]


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
    outcome = facts(architectures=[architecture], id2label=labels)
    deployment.checkpoint = outcome.model_dump(mode="json")
    snippets = snippets_of(first_of(deployment))
    assert snippets.keys() == LANGUAGES
    url, body = snippets["curl"].split()[1], snippets["curl"].rpartition(" -d ")[2]
    assert url.endswith(f"/m/{deployment.model_id}/environments/production/sync{route}")
    assert json.loads(body.strip("'"))["model"] == deployment.model.name
    assert call in snippets["performance"]
    assert f'fetch("{url}"' in snippets["javascript"]
    for language in ("python", "performance"):
        ast.parse(snippets[language])


def test_a_language_model_is_asked_to_say_something_in_every_language() -> None:
    snippets = snippets_of(first_of(make_deployment(environment="production")))
    assert snippets.keys() == LANGUAGES
    assert "/sync/v1/chat/completions" in snippets["curl"]
    assert '"stream": true' in snippets["javascript"]
    assert '"stream": True' in snippets["python"]
    for language in ("python", "performance"):
        ast.parse(snippets[language])


def test_a_route_that_pages_do_not_know_is_asked_as_a_chat() -> None:
    deployment = make_deployment()
    deployment.spec["trt_llm"] = {"runtime": {"webserver_default_route": "/v1/completions"}}
    assert first_of(deployment).route == "/v1/chat/completions"


def test_a_name_with_quotes_stays_one_word_for_the_shell_and_for_python() -> None:
    deployment = make_deployment()
    name = """it's "quoted" $HOME"""
    deployment.spec["trt_llm"] = {"runtime": {"served_model_name": name}}
    snippets = snippets_of(first_of(deployment))
    words = shlex.split(snippets["curl"].replace("\\\n", ""))
    assert json.loads(words[-1])["model"] == name
    for language in ("python", "performance"):
        assert name in [
            each.value
            for each in ast.walk(ast.parse(snippets[language]))
            if isinstance(each, ast.Constant)
        ]


def test_the_page_shows_the_code_of_each_environment_and_of_the_deployment_itself() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, environment="production")
    page = f"/models/{deployment.model_id}/{deployment.id}/"
    own = f"{deployment.model_id}/deployment/{deployment.id}"
    shown = signed_in(cast.owner).get(page).content.decode()
    assert f"/m/{deployment.model_id}/environments/production/sync/v1/chat" in shown
    assert f"/m/{own}/sync/v1/chat" not in shown
    shown = signed_in(cast.owner).get(page, {"call": own}).content.decode()
    assert f"/m/{own}/sync/v1/chat" in shown

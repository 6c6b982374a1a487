"""The page on which a model is tried: what it offers, to whom, and what it lets through."""

import json
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client

from apps.accounts.models import ApiKey, RestrictedEnvironment
from controlplane.domain.lifecycle import DeploymentState
from controlplane.domain.rules.examples import facts
from tests.apps.pages import committed_queries, polled, queries_of, signed_in
from tests.factories import Cast, make_deployment, make_model
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
CHAT = "sync/v1/chat/completions"


def page_at(client: Client, query: str = "") -> str:
    answer = client.get(f"/models/try/{query}")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_it_asks_the_newest_deployment_until_the_address_names_another(cast: Cast) -> None:
    model = make_model(team=cast.team, name="older")
    older = make_deployment(model=model, environment="staging")
    newer = make_deployment(team=cast.team, environment="production")
    page = page_at(signed_in(cast.owner))
    assert f"/models/{newer.model_id}/call/environments/production/{CHAT}" in page
    page = page_at(signed_in(cast.owner), f"?at={model.id}/environments/staging")
    assert f"/models/{model.id}/call/environments/staging/{CHAT}" in page
    page = page_at(signed_in(cast.owner), f"?at={model.id}/deployment/{older.id}")
    assert f"/models/{model.id}/call/deployment/{older.id}/{CHAT}" in page


def test_two_places_are_shown_side_by_side_where_they_are_asked_the_same_way(cast: Cast) -> None:
    model = make_model(team=cast.team)
    first, second = make_deployment(model=model), make_deployment(model=model)
    embedder = make_deployment(model=model, **encoder("BertModel"))
    both = f"?at={model.id}/deployment/{first.id}&beside={model.id}/deployment/"
    assert page_at(signed_in(cast.owner), both + second.id).count("data-call=") == 2
    page = page_at(signed_in(cast.owner), both + embedder.id)
    assert page.count("data-call=") == 1
    offered = page.partition('id="beside"')[2].partition("</select>")[0]
    assert second.id in offered
    assert embedder.id not in offered


@pytest.mark.parametrize(
    ("architecture", "labels", "form"),
    [
        ("BertModel", {}, "embed"),
        ("BertForSequenceClassification", {"0": "a"}, "rerank"),
        ("BertForSequenceClassification", {"0": "a", "1": "b"}, "classify"),
        ("BertForTokenClassification", {"0": "O"}, "label"),
    ],
)
def test_a_model_without_text_gets_the_form_of_its_kind(
    cast: Cast, architecture: str, labels: dict[str, str], form: str
) -> None:
    make_deployment(team=cast.team, **encoder(architecture, labels))
    assert f'data-form="{form}"' in page_at(signed_in(cast.owner))


def encoder(architecture: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    outcome = facts(architectures=[architecture], id2label=labels or {})
    return {
        "spec": {"trt_llm": {"build": {"base_model": "encoder_bert"}}},
        "checkpoint": outcome.model_dump(mode="json"),
    }


def test_the_page_holds_no_key(cast: Cast) -> None:
    make_deployment(team=cast.team)
    page = page_at(signed_in(cast.owner))
    assert "$ENGINEHOUSE_API_KEY" in page
    assert "Bearer $" in page
    assert not ApiKey.objects.exists()


def test_what_sleeps_is_woken_from_the_page_and_its_poll_shows_how_it_gets_on(cast: Cast) -> None:
    asleep = make_deployment(team=cast.team, state=DeploymentState.SCALED_TO_ZERO)
    place = f"{asleep.model_id}/deployment/{asleep.id}"
    client = signed_in(cast.member)
    assert "Wake it" in page_at(client)
    answer = client.post("/models/try/wake/", {"place": place, "at": place})
    assert answer.headers["Location"] == f"/models/try/?at={place.replace('/', '%2F')}"
    asleep.refresh_from_db()
    assert asleep.state == DeploymentState.WAKING_UP
    part = polled(client, f"/models/try/?at={place}")
    assert "What you send now waits" in part.content.decode()
    same = polled(client, f"/models/try/?at={place}", **{"HX-PTag": part.headers["HX-PTag"]})
    assert same.status_code == 304


def test_a_restricted_environment_may_be_called_by_all_and_woken_by_some(cast: Cast) -> None:
    asleep = make_deployment(
        team=cast.team, environment="production", state=DeploymentState.INACTIVE
    )
    RestrictedEnvironment.objects.create(team=cast.team, name="production")
    client = signed_in(cast.member)
    assert "disabled>Wake it" in folded(page_at(client))
    place = f"{asleep.model_id}/environments/production"
    assert client.post("/models/try/wake/", {"place": place}).status_code == 403
    assert asked(client, place).status_code == 200


def asked(client: Client, place: str, route: str = CHAT) -> Any:
    model_id, _, rest = place.partition("/")
    # A stream that nobody reads asks nothing.
    return client.post(
        f"/models/{model_id}/call/{rest}/{route}", {}, content_type="application/json"
    )


def test_who_is_outside_or_signed_out_gets_an_error_that_the_page_can_show(cast: Cast) -> None:
    deployment = make_deployment(team=cast.team)
    place = f"{deployment.model_id}/deployment/{deployment.id}"
    for client, status in ((signed_in(cast.outsider), 404), (Client(), 401)):
        answer = asked(client, place)
        assert answer.status_code == status
        assert json.loads(answer.content)["error"]["message"]
        assert client.get(f"/models/try/?at={place}").status_code in (302, 404)
    assert asked(signed_in(cast.owner), place, "sync/v1/models").status_code == 404
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("name", ["%00", "%0A", "a%3Fb"])
def test_what_cannot_be_a_name_is_not_found(cast: Cast, name: str) -> None:
    deployment = make_deployment(team=cast.team)
    client = signed_in(cast.owner)
    for path in (
        f"/models/{name}/",
        f"/models/{deployment.model_id}/{name}/log/",
        f"/models/try/?at={deployment.model_id}/deployment/{name}",
        f"/models/try/?at={name}/environments/production",
    ):
        assert client.get(path).status_code == 404, path
    assert asked(client, f"{deployment.model_id}/deployment/{name}").status_code == 404
    place = f"{deployment.model_id}/deployment/{unquote(name)}"
    assert client.post("/models/try/wake/", {"place": place}).status_code == 404


def test_a_forged_form_of_another_site_calls_nothing(cast: Cast) -> None:
    deployment = make_deployment(team=cast.team)
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.owner)
    place = f"{deployment.model_id}/deployment/{deployment.id}"
    assert asked(client, place).status_code == 403
    assert not ApiKey.objects.exists()


def test_an_empty_team_is_told_what_to_do_first(cast: Cast) -> None:
    page = page_at(signed_in(cast.owner))
    assert "Nothing to try yet" in page
    assert signed_in(cast.owner).get("/models/try/?at=nothing/here").status_code == 404


def test_the_page_takes_the_committed_number_of_queries(cast: Cast) -> None:
    model = make_model(team=cast.team)
    for name in ("production", "staging", "testing"):
        make_deployment(model=model, environment=name)
    assert queries_of(signed_in(cast.owner), "/models/try/") == committed_queries("try")

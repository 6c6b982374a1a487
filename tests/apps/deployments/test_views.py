"""The list of deployments, a deployment's page, and what can be asked of it."""

import re
from datetime import UTC, datetime

import pytest
from time_machine import TimeMachineFixture

from apps.deployments.models import Deployment, Environment
from apps.ui.undo import undo_of
from controlplane.domain.lifecycle import DeploymentState
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import (
    make_cast,
    make_deployment,
    make_environment,
    make_finished_build,
    make_replica,
)
from tests.factories_traffic import make_requests
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def address(deployment: Deployment) -> str:
    return f"/models/{deployment.model_id}/{deployment.id}/"


def test_the_list_takes_the_committed_number_of_queries() -> None:
    cast = make_cast()
    for _ in range(8):
        make_deployment(team=cast.team, environment="production")
    assert queries_of(signed_in(cast.owner), "/models/") == committed_queries("deployments")


def test_an_outsider_finds_no_such_deployment() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    outsider = signed_in(cast.outsider)
    for page in ("", "series/"):
        assert signed_in(cast.owner).get(address(deployment) + page).status_code == 200
        assert outsider.get(address(deployment) + page).status_code == 404
    for action in ("activate", "deactivate", "retry", "promote"):
        assert outsider.post(f"{address(deployment)}{action}/").status_code == 404
    assert outsider.get(f"/models/deploy/{deployment.build.number}/").status_code == 404


def test_the_page_shows_endpoint_replicas_and_lines_to_paste() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, environment="production")
    replica = make_replica(deployment=deployment)
    page = signed_in(cast.owner).get(address(deployment)).content.decode()
    base = f"/m/{deployment.model_id}/environments/production/sync/v1"
    assert f"{base}/chat/completions" in page
    assert "OpenAI(" in page
    assert replica.id in page


def test_numbers_say_their_window(
    time_machine: TimeMachineFixture,
) -> None:
    now = datetime(2026, 11, 27, 12, tzinfo=UTC)
    time_machine.move_to(now, tick=False)
    cast = make_cast()
    deployment = make_deployment(team=cast.team, environment="production")
    for age in (180, 120):
        make_requests(deployment, 60, age_seconds=age, completion_tokens=10, first_seconds=0.3)
    client = signed_in(cast.owner)
    page = folded(client.get(address(deployment)).content.decode())
    assert "120 requests; first token: streamed requests only" in page
    assert "It is what production serves, 0.67 requests/s in the last hour: all of" in page
    first = re.search(r"<dt>Time to first token, p90</dt><dd [^>]+>([0-9.]+).ms</dd>", page)
    assert first is not None
    assert float(first[1]) == pytest.approx(300, rel=0.01)


def test_the_page_leads_to_the_edit_of_its_config_and_draws_what_its_engines_measure() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    revision = deployment.build.revision
    client = signed_in(cast.owner)
    page = client.get(address(deployment)).content.decode()
    assert f'<a href="/configs/{revision.config_id}/">Edit {revision.config.name}</a>' in page
    assert f"/configs/{revision.config_id}/revisions/{revision.number}/" in page
    charts = re.findall(r'id="(chart-[a-z-]+)"', page)
    assert charts[0] == "chart-first-token"
    assert "chart-accepted" not in charts
    make_replica(deployment=deployment, metrics={"draft_tokens_total": 4.0})
    page = client.get(address(deployment)).content.decode()
    more = set(re.findall(r'id="(chart-[a-z-]+)"', page)) - set(charts)
    assert more == {"chart-accepted", "chart-tokens-per-step"}


def test_a_model_that_makes_no_text_has_no_charts_of_first_tokens_and_cache() -> None:
    cast = make_cast()
    spec = {"trt_llm": {"runtime": {"webserver_default_route": "/v1/embeddings"}}}
    deployment = make_deployment(team=cast.team, spec=spec)
    page = signed_in(cast.owner).get(address(deployment)).content.decode()
    charts = set(re.findall(r'id="(chart-[a-z-]+)"', page))
    assert {"chart-tokens", "chart-requests"} <= charts
    assert not charts & {"chart-first-token", "chart-inter-token", "chart-kv-used"}


def test_a_build_is_deployed_as_a_new_model_and_then_beside_it() -> None:
    cast = make_cast()
    build = make_finished_build(team=cast.team)
    client = signed_in(cast.owner)
    form = {"model_name": "fresh", "environment": "production"}
    client.post(f"/models/deploy/{build.number}/", form)
    first = Deployment.objects.get(model__name="fresh")
    assert Environment.objects.get(model=first.model).candidate == first
    client.post(f"/models/deploy/{build.number}/", {"model_name": "fresh", "environment": ""})
    assert Deployment.objects.filter(model=first.model).count() == 2


def test_a_deployment_is_deactivated_by_its_name_only() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    client = signed_in(cast.owner)
    client.post(f"{address(deployment)}deactivate/", {"name": "other"})
    deployment.refresh_from_db()
    assert deployment.state == DeploymentState.ACTIVE
    client.post(f"{address(deployment)}deactivate/", {"name": deployment.name})
    deployment.refresh_from_db()
    assert deployment.state in (DeploymentState.DEACTIVATING, DeploymentState.INACTIVE)


def test_one_that_sleeps_is_woken_on_its_page() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, state="scaled_to_zero", wanted_replicas=0)
    client = signed_in(cast.member)
    shown = client.get(address(deployment)).content.decode()
    assert ("Wake it" in shown, "It sleeps." in shown, "Activate" in shown) == (True, True, False)
    client.post(f"{address(deployment)}activate/")
    deployment.refresh_from_db()
    assert deployment.state == "waking_up"


def test_a_deployment_is_promoted_to_a_place_of_its_model() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    place = make_environment(model=deployment.model, name="staging")
    client = signed_in(cast.owner)
    client.post(f"{address(deployment)}promote/", {"environment": "staging"})
    place.refresh_from_db()
    assert deployment.id in (place.candidate_id, place.current_id)


def test_an_inactive_deployment_is_deleted_on_its_page_and_a_running_one_is_not() -> None:
    cast = make_cast()
    running = make_deployment(team=cast.team)
    stopped = make_deployment(model=running.model, state="inactive", environment="staging")
    browser = signed_in(cast.owner)
    assert "Delete this deployment" not in browser.get(address(running)).content.decode()
    assert "Nothing is left in staging." in browser.get(address(stopped)).content.decode()
    typed = {"name": stopped.name}
    said = browser.post(f"{address(stopped)}delete/", typed, follow=True).content.decode()
    assert "is deleted; its build and artifact stay." in said
    make_replica(deployment=running)
    said = browser.post(f"{address(running)}delete/", {"name": running.name}, follow=True)
    assert "still runs" in said.content.decode()
    assert [*Deployment.objects.all()] == [running]


def test_a_deployment_is_renamed_on_its_page_and_the_undo_names_it_back() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, name="first")
    make_deployment(model=deployment.model, name="second")
    browser, path = signed_in(cast.owner), f"{address(deployment)}rename/"
    for name, words in (
        (" chat.2 ", "It is called <code>chat.2</code> now."),
        ("second", "already has a deployment <code>second</code>"),
        ("", "is not a deployment name."),
    ):
        assert words in browser.post(path, {"name": name}, follow=True).content.decode(), name
    assert Deployment.objects.get(id=deployment.id).name == "chat.2"
    said = browser.post(path, {"name": "third"}, follow=True).context["messages"]
    undo = undo_of([*said][-1])
    assert undo == {"path": path, "fields": {"name": "chat.2"}}
    assert signed_in(cast.outsider).post(path, {"name": "theirs"}).status_code == 404

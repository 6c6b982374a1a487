"""The overview and the probes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from apps.accounts.models import User
from apps.alerts.evaluation import alerts_evaluate
from apps.configs.models import Revision
from apps.dashboard.first_steps import Newcomer, first_steps
from apps.fleet.models import DevicePrice, Node
from apps.fleet.services.workers import worker_arrived
from apps.telemetry.models import DeviceHour
from controlplane import clock
from controlplane.domain.lifecycle import BuildState
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import (
    make_build,
    make_cast,
    make_config,
    make_deployment,
    make_device,
    make_model,
    make_replica,
    make_revision,
)
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def newcomer(user: User, **changes: Any) -> Newcomer:
    known = {"may_sign_in": True, "has_devices": True, "has_deployments": False, "model_ids": []}
    return Newcomer(user=user, **known | changes)


def test_an_empty_overview_leads_to_a_first_answer() -> None:
    page = signed_in(make_cast().owner).get("/").content.decode()
    assert "Get started" in page
    assert "python manage.py up" in page
    steps = page.partition("Get started")[2]
    assert steps.count("small primary") == 1
    assert "Choose a password" in folded(steps).partition("small primary")[2][:80]


def test_the_overview_says_what_is_wrong_with_its_cause() -> None:
    cast = make_cast()
    failure = {"code": "EHF-OFFLINE", "blame": "machine", "sentence": "The hub did not answer."}
    make_build(team=cast.team, state=BuildState.FAILED, failure=failure, finished_at=clock.now())
    make_deployment(team=cast.team)
    make_device(kind="H100")
    alerts_evaluate()
    page = signed_in(cast.owner).get("/").content.decode()
    assert "The hub did not answer." in page
    assert "1 active" in page
    assert "1 of 1" in page


def test_a_build_that_succeeded_ticks_the_config_that_it_was_made_of() -> None:
    cast = make_cast()
    build = make_build(team=cast.team, state=BuildState.SUCCEEDED)
    Revision.objects.filter(id=build.revision_id).update(blocks_build=True)
    done = {step.label: step.is_done for step in first_steps(newcomer(cast.owner))}
    assert done["Write a config that passes the checks"]
    assert done["Build it"]


def test_a_newcomer_is_led_from_the_link_to_the_first_call_and_each_step_ticks_itself() -> None:
    cast = make_cast()
    cast.owner.set_unusable_password()
    cast.owner.save()
    steps = first_steps(newcomer(cast.owner, has_devices=False, may_sign_in=False))
    assert [step.label for step in steps if not step.is_done] == [
        "Set a password",
        "Have a worker that builds",
        "Add a GPU, or plan without one",
        "Write a config that passes the checks",
        "Build it",
        "Deploy it",
        "Call it",
    ]
    assert all(step.command or step.url for step in steps)
    worker_arrived(name="build.default@here", version="1")
    make_revision(config=make_config(team=cast.team), blocks_build=False)
    steps = first_steps(newcomer(cast.owner, has_devices=False))
    assert [step.label for step in steps if not step.is_done] == [
        "Build it",
        "Deploy it",
        "Call it",
    ]


def test_the_first_steps_go_when_they_are_hidden_by_whoever_hid_them() -> None:
    cast = make_cast()
    owner = signed_in(cast.owner)
    assert owner.post("/first-steps/hide/").status_code == 302
    assert "Get started" not in owner.get("/").content.decode()
    assert "Get started" in signed_in(cast.member).get("/").content.decode()


def test_the_tab_tells_of_incidents_in_its_title_and_a_poll_renews_it() -> None:
    cast = make_cast()
    page = signed_in(cast.owner)
    assert "<title>Overview · Enginehouse</title>" in folded(page.get("/").content.decode())
    make_deployment(team=cast.team, state="unhealthy", environment="production")
    alerts_evaluate()
    title = "<title>✕ critical · 1 incident · Overview · Enginehouse</title>"
    assert title in folded(page.get("/").content.decode())
    polled = page.get("/incidents/", headers={"HX-Request": "true"}).content.decode()
    assert title in folded(polled)
    assert "1 incident" in polled
    assert page.get("/incidents/").url == "/"  # type: ignore[attr-defined]


def test_production_is_listed_with_what_is_ready_and_those_in_trouble_first() -> None:
    cast = make_cast()
    for name, state in (("a", "active"), ("b", "inactive"), ("c", "unhealthy")):
        model = make_model(team=cast.team, name=name)
        make_deployment(model=model, name=name, state=state, environment="production")
    make_deployment(team=cast.team, name="beside")
    page = folded(signed_in(cast.owner).get("/").content.decode())
    table = page[page.index("production-title") :]
    assert re.findall(r"<small>(\w+)</small>", table) == ["c", "a", "b"]
    assert "0 of 1" in table


def test_what_the_month_has_cost_is_told_on_a_visit_and_not_summed_up_for_a_poll() -> None:
    cast, now = make_cast(), clock.now()
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    DevicePrice.objects.create(kind="H100", per_hour="2", since=month - timedelta(days=1))
    DeviceHour.objects.create(
        hour=month, team_id=cast.team.id, model_id="m", deployment_id="d", kind="H100",
        seconds=5400,
    )  # fmt: skip
    page = signed_in(cast.owner)
    assert "GPU cost this month: 3.00" in folded(page.get("/").content.decode())
    polled = page.get("/", headers={"HX-Request": "true"})
    assert "GPU cost" not in polled.content.decode()


def test_an_outsider_sees_nothing_of_it() -> None:
    cast = make_cast()
    failure = {"code": "EHF-OFFLINE", "blame": "machine", "sentence": "The hub did not answer."}
    make_build(team=cast.team, state=BuildState.FAILED, failure=failure, finished_at=clock.now())
    alerts_evaluate()
    assert "The hub did not answer." not in signed_in(cast.outsider).get("/").content.decode()


def test_the_overview_counts_deployments_of_which_nothing_was_heard_lately() -> None:
    cast = make_cast()
    page = signed_in(cast.owner)
    notices, unheard, sleeping = (make_deployment(team=cast.team) for _ in range(3))
    long_ago = clock.now() - timedelta(days=1)
    make_replica(deployment=notices)
    make_replica(deployment=notices, observed_at=long_ago)
    make_replica(deployment=sleeping, state="stopped", observed_at=long_ago)
    assert "not confirmed" not in page.get("/").content.decode()
    make_replica(deployment=unheard, observed_at=long_ago)
    shown = page.get("/").content.decode()
    assert ">3 active<" in shown
    assert ">1 not confirmed<" in shown


def test_what_says_the_same_for_hours_is_confirmed_by_its_node() -> None:
    cast = make_cast()
    replica = make_replica(
        deployment=make_deployment(team=cast.team), observed_at=clock.now() - timedelta(hours=6)
    )
    page = signed_in(cast.owner)
    assert "not confirmed" in page.get("/").content.decode()
    Node.objects.filter(id=replica.node_id).update(replicas_heard_at=clock.now())
    assert "not confirmed" not in page.get("/").content.decode()


def test_the_overview_takes_the_committed_number_of_queries() -> None:
    cast = make_cast()
    for _ in range(6):
        make_build(team=cast.team)
        make_deployment(team=cast.team, environment="production")
    assert queries_of(signed_in(cast.owner), "/") == committed_queries("overview")


def test_the_probes_answer_without_a_session() -> None:
    assert Client().get("/healthz").json() == {"status": "ready"}
    assert Client().get("/readyz").json() == {"status": "ready"}
    assert Client().get("/livez").json() == {"status": "alive"}


def test_every_page_forbids_what_is_inline() -> None:
    policy = signed_in(make_cast().owner).get("/").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_what_is_not_there_is_said_in_the_look_of_the_rest() -> None:
    answer = signed_in(make_cast().owner).get("/configs/nowhere/")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()


def test_a_fault_of_ours_needs_nothing_that_may_be_broken() -> None:
    assert "Something broke on our side" in server_error(RequestFactory().get("/")).content.decode()

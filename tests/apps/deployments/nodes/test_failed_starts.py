"""A node on which an artifact fails to start is passed over for a while, and everybody sees why."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine

from apps.accounts.models import Team
from apps.deployments.models import Deployment, FailedStarts, Replica
from apps.deployments.nodes.backoff import FORGOTTEN_AFTER, LONGEST_WAIT, wait_after
from apps.deployments.nodes.failed_starts import failed_starts_prune
from apps.deployments.served_models.services import model_create
from apps.deployments.services.deployments import deployment_retry
from apps.deployments.services.reconcile import deployment_settle
from apps.fleet.models import Node
from controlplane import clock
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import BROKEN, make_servable_build, make_serving_node, node_says
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def nodes() -> dict[str, Node]:
    return {name: make_serving_node(name=name) for name in ("a", "b", "c")}


def test_one_bad_host_does_not_swallow_placements(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    served = _serve(cast.team, replicas=3)
    placed = {each.node.name: each for each in _live(served)}
    assert set(placed) == {"a", "b", "c"}
    for name in ("b", "c"):
        node_says(nodes[name], {placed[name].id: "ready"})
    _fail(placed["a"])
    served.refresh_from_db()
    with _later(served.start_failures):
        deployment_settle(deployment_id=served.id)
    fresh = _live(served).get(state="ordered")
    assert fresh.node.name == "b", "a has fewer of them, and failed"
    assert fresh.placement == (
        "`b` has the fewest replicas of this deployment (1) of those with room that "
        "failed least. "
        "Passed over: `a` (failed to start it once)."
    )


def test_the_wait_doubles_ends_and_is_forgotten_after_a_success(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    assert [wait_after(count).seconds for count in (1, 2, 3)] == [2, 4, 8]
    assert wait_after(10_000) == LONGEST_WAIT
    served = _serve(cast.team)
    first = _live(served).get()
    _fail(first)
    remembered = FailedStarts.objects.get()
    assert (remembered.count, remembered.node) == (1, nodes["a"])
    assert remembered.retry_at == remembered.last_at + wait_after(1)
    again = factories.make_replica(
        deployment=served, node=nodes["a"], state="loading", ready_at=None
    )
    node_says(nodes["a"], {again.id: "ready"})
    assert not FailedStarts.objects.exists()


def test_failures_long_ago_are_not_counted_and_are_removed(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    served = _serve(cast.team)
    _fail(_live(served).get())
    FailedStarts.objects.update(count=9, last_at=clock.now() - FORGOTTEN_AFTER)
    again = factories.make_replica(
        deployment=served, node=nodes["a"], state="loading", ready_at=None
    )
    _fail(again)
    assert FailedStarts.objects.get().count == 1
    FailedStarts.objects.update(last_at=clock.now() - FORGOTTEN_AFTER)
    assert failed_starts_prune() == 1


@pytest.mark.parametrize("changes", [{"wanted": "stopped"}, {"ready_at": clock.now()}])
def test_what_was_to_stop_or_has_served_is_no_failed_start(
    cast: factories.Cast, nodes: dict[str, Node], changes: dict[str, Any]
) -> None:
    served = _serve(cast.team)
    replica = _live(served).get()
    Replica.objects.filter(id=replica.id).update(**changes)
    _fail(replica)
    assert not FailedStarts.objects.exists()


def test_where_every_node_backs_off_the_deployment_waits_and_says_until_when(
    cast: factories.Cast,
) -> None:
    node = make_serving_node(name="only")
    served = _serve(cast.team)
    Deployment.objects.filter(id=served.id).update(state="unhealthy")
    until = clock.now() + timedelta(minutes=4)
    _fail(_live(served).get())
    FailedStarts.objects.update(count=7, retry_at=until)
    with _later(5):
        deployment_settle(deployment_id=served.id)
    served.refresh_from_db()
    assert not _live(served).exists()
    assert served.failure is not None
    assert served.failure["code"] == "EHD-BACKOFF"
    assert served.failure["sentence"] == (
        "`only` failed to start it 7 times in a row and is tried again at "
        f"{until:%H:%M:%S} UTC. It said: The driver does not answer."
    )
    with _at(until):
        node_heard(node)
        deployment_settle(deployment_id=served.id)
    assert _live(served).get().placement == (
        "`only` is the only node that may take it; it failed to start it 7 times in a row."
    )


@pytest.mark.parametrize("state", ["active", "deploying", "unhealthy", "deploy_failed"])
def test_a_person_tries_again_now(cast: factories.Cast, state: str) -> None:
    make_serving_node(name="only")
    served = _serve(cast.team)
    _fail(_live(served).get())
    Deployment.objects.filter(id=served.id).update(state=state)
    FailedStarts.objects.update(retry_at=clock.now() + timedelta(minutes=4))
    page = f"/models/{served.model_id}/{served.id}/"
    browser = signed_in(cast.member)
    assert ">Try again" in browser.get(page).content.decode()
    assert browser.post(f"{page}retry/").status_code == 302
    deployment_settle(deployment_id=served.id)
    assert _live(served).get().state == "ordered"
    assert FailedStarts.objects.get().count == 1, "and what is known of the node stays"


def test_the_page_says_when_the_next_start_is_and_offers_no_other_while_one_loads(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    served = _serve(cast.team)
    _fail(_live(served).get())
    page, browser = f"/models/{served.model_id}/{served.id}/", signed_in(cast.member)
    shown = folded(browser.get(page).content.decode())
    assert "0 of 1 ready, next start <time" in shown
    assert "Try again now" in shown
    with _later(1):
        node_heard(nodes["b"])
        deployment_settle(deployment_id=served.id)
        node_says(nodes["b"], {_live(served).get().id: "ready"})
    shown = folded(browser.get(page).content.decode())
    assert "next start" not in shown
    assert "Try again now" not in shown, "a may wait, but nothing is missing"


def test_what_waits_for_nothing_is_not_tried_again(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    served = _serve(cast.team)
    node_says(nodes["a"], {_live(served).get().id: "ready"})
    done, reason = deployment_retry(deployment=served)
    assert (done, reason) == (False, "Deployment `deployment-1` is active: there is nothing to "
                              "retry.")  # fmt: skip


def test_page_and_rest_show_what_failed_and_other_teams_see_no_names(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    served = _serve(cast.team)
    _fail(_live(served).get())
    path = f"models/{served.model_id}/deployments/{served.id}"
    failed_starts = client_of(cast.member).get(f"/v1/{path}/failed_starts")[1]["failed_starts"]
    assert [(each["node"], each["count"]) for each in failed_starts] == [("a", 1)]
    assert failed_starts[0]["failure"]["sentence"] == BROKEN.sentence
    shown = signed_in(cast.member).get(f"/models/{served.model_id}/{served.id}/")
    assert "Failed starts" in shown.content.decode()
    mine, theirs = _on_node(cast.member, nodes["a"]), _on_node(cast.outsider, nodes["a"])
    assert (mine["deployments"], mine["sentence"]) == (["tiny/deployment-1"], BROKEN.sentence)
    assert (theirs["deployments"], theirs["sentence"]) == ([], "")
    page = signed_in(cast.outsider).get(f"/nodes/{nodes['a'].id}/").content.decode()
    assert "of another team" in page
    assert BROKEN.sentence not in page


def test_an_admin_clears_what_failed_on_a_node_that_was_mended(
    cast: factories.Cast, nodes: dict[str, Node]
) -> None:
    _fail(_live(_serve(cast.team)).get())
    node, address = nodes["a"], f"/nodes/{nodes['a'].id}/"
    clear = f"{address}failed-starts/clear/"
    assert clear not in signed_in(cast.member).get(address).content.decode()
    assert signed_in(cast.member).post(clear).status_code == 403
    assert client_of(cast.member).delete(f"/v1/nodes/{node.id}/failed_starts")[0] == 403
    assert FailedStarts.objects.exists()
    browser = signed_in(cast.organisation_admin)
    assert clear in browser.get(address).content.decode()
    assert browser.post(clear).status_code == 302
    assert not FailedStarts.objects.exists()
    rest = client_of(cast.organisation_admin)
    assert rest.delete(f"/v1/nodes/{node.id}/failed_starts") == (200, {"cleared": 0})
    factories.make_failed_starts(node=node)
    assert rest.delete(f"/v1/nodes/{node.id}/failed_starts") == (200, {"cleared": 1})


def node_heard(node: Node) -> None:
    Node.objects.filter(id=node.id).update(last_heartbeat_at=clock.now())


def _serve(team: Team, *, replicas: int = 1) -> Deployment:
    _, made = model_create(team=team, name="tiny", build=make_servable_build(team=team))
    Deployment.objects.filter(id=made.id).update(wanted_replicas=replicas, min_replica=replicas)
    deployment_settle(deployment_id=made.id)
    return Deployment.objects.get(id=made.id)


def _live(deployment: Deployment) -> Any:
    return deployment.replicas.exclude(state__in=["failed", "stopped"]).order_by("id")


def _fail(replica: Replica) -> None:
    others = Replica.objects.filter(node=replica.node, state="ready").values_list("id", flat=True)
    states = {replica.id: "failed"} | dict.fromkeys(others, "ready")
    node_says(replica.node, states, failure=BROKEN)


def _later(seconds: int) -> Any:
    return _at(clock.now() + timedelta(seconds=seconds * 2 + 1))


def _at(moment: datetime) -> Any:
    return time_machine.travel(moment, tick=False)


def _on_node(person: Any, node: Node) -> Any:
    return client_of(person).get(f"/v1/nodes/{node.id}/replicas")[1]["failed_starts"][0]

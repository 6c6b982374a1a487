"""Active with fewer replicas than wanted is shown as degraded, with the cause and since when."""

from typing import Any

import pytest

from apps.deployments.models import Deployment
from apps.deployments.served_models.services import model_create
from apps.deployments.services.deployments import deployment_deactivate
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Node
from controlplane import clock
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import BROKEN, make_servable_build, make_serving_node, node_says

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def nodes() -> list[Node]:
    return [make_serving_node(name=name) for name in ("a", "b", "c")]


@pytest.fixture
def served(cast: factories.Cast, nodes: list[Node]) -> Deployment:
    """Three replicas on three nodes, of which two are ready."""
    _, made = model_create(team=cast.team, name="tiny", build=make_servable_build(team=cast.team))
    Deployment.objects.filter(id=made.id).update(wanted_replicas=3, min_replica=3)
    deployment_settle(deployment_id=made.id)
    for node in nodes[:2]:
        _say(made, node, "ready")
    return _fresh(made)


def test_replicas_that_start_without_a_failure_degrade_nothing(served: Deployment) -> None:
    assert (served.state, served.failure, served.degraded_since) == ("active", None, None)


def test_a_third_replica_that_fails_degrades_with_its_cause_until_all_are_ready(
    cast: factories.Cast, served: Deployment, nodes: list[Node]
) -> None:
    _say(served, nodes[2], "failed", failure=BROKEN)
    since = _fresh(served).degraded_since
    assert since is not None
    assert _shown(cast, served) == ("ACTIVE", BROKEN.to_json(), [
        {"type": "DEGRADED", "since": since.isoformat().replace("+00:00", "Z"), "reason": "EHN-X",
         "message": "2 of 3 replicas are ready. The driver does not answer."}
    ])  # fmt: skip
    pages = (f"/models/{served.model_id}/{served.id}/", f"/models/{served.model_id}/",
             "/models/?state=degraded")  # fmt: skip
    for page in pages:
        shown = signed_in(cast.member).get(page).content.decode()
        assert ">degraded</span>" in shown, page
        assert "Degraded since" in shown, page
        assert BROKEN.sentence in shown, page

    extra = factories.make_replica(deployment=served, node=nodes[2], state="loading", ready_at=None)
    deployment_settle(deployment_id=served.id)
    assert _fresh(served).degraded_since == since, "the next one only loads yet"
    node_says(nodes[2], {extra.id: "ready"})
    assert _shown(cast, served) == ("ACTIVE", None, [])
    assert _fresh(served).last_failure is None
    again = signed_in(cast.member).get("/models/?state=degraded").content.decode()
    assert "Degraded since" not in again


def test_a_replica_that_finds_no_room_degrades(served: Deployment, nodes: list[Node]) -> None:
    _say(served, nodes[2], "ready")
    assert _fresh(served).degraded_since is None
    Deployment.objects.filter(id=served.id).update(wanted_replicas=4)
    Node.objects.update(cordoned=True)
    deployment_settle(deployment_id=served.id)
    outcome = _fresh(served)
    assert outcome.degraded_since is not None
    assert outcome.failure is not None
    assert outcome.failure["code"] == "EHD-NO-NODE"


def test_a_silent_node_degrades_until_another_takes_its_place(
    served: Deployment, nodes: list[Node]
) -> None:
    _say(served, nodes[2], "ready")
    Node.objects.filter(id=nodes[2].id).update(last_heartbeat_at=None)
    deployments_sweep()
    outcome = _fresh(served)
    assert outcome.state == "active"
    assert outcome.failure is not None
    assert outcome.failure["code"] == "EHD-NODE-SILENT"
    assert "`c`" in outcome.failure["sentence"]
    replacement = outcome.replicas.get(state="ordered")
    others = outcome.replicas.filter(node=replacement.node, state="ready")
    states = dict.fromkeys(others.values_list("id", flat=True), "ready")
    node_says(replacement.node, states | {replacement.id: "ready"})
    assert _fresh(served).degraded_since is None


def test_without_a_ready_replica_it_is_unhealthy_and_not_degraded(
    served: Deployment, nodes: list[Node]
) -> None:
    for node in nodes:
        _say(served, node, "failed", failure=BROKEN)
    outcome = _fresh(served)
    assert (outcome.state, outcome.degraded_since) == ("unhealthy", None)
    assert outcome.failure == BROKEN.to_json()


def test_deactivating_ends_it(served: Deployment, nodes: list[Node]) -> None:
    _say(served, nodes[2], "failed", failure=BROKEN)
    deployment_deactivate(deployment=served)
    deployment_settle(deployment_id=served.id)
    outcome = _fresh(served)
    assert (outcome.failure, outcome.degraded_since, outcome.last_failure) == (None, None, None)


def test_a_failure_before_the_deployment_was_scaled_is_not_its_cause(
    served: Deployment, nodes: list[Node]
) -> None:
    ended = factories.make_replica(
        deployment=served, node=nodes[2], state="failed", failure=BROKEN.to_json()
    )
    type(ended).objects.filter(id=ended.id).update(finished_at=clock.now())
    deployment_settle(deployment_id=served.id)
    assert _fresh(served).degraded_since is None


def _say(deployment: Deployment, node: Node, state: str, **more: Any) -> None:
    live = deployment.replicas.filter(node=node).exclude(state__in=["failed", "stopped"])
    node_says(node, {each.id: state for each in live}, **more)


def _fresh(deployment: Deployment) -> Deployment:
    return Deployment.objects.get(id=deployment.id)


def _shown(cast: factories.Cast, deployment: Deployment) -> tuple[Any, ...]:
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}"
    report = client_of(cast.member).get(path)[1]
    return report["status"], report["failure"], report["conditions"]

"""What sleeps starts when it is asked for, once, and what was switched off does not."""

import json

import pytest
from django.test import Client

from apps.deployments.autoscaling.history import decision_list
from apps.deployments.autoscaling.models import GatewayLoad
from apps.deployments.autoscaling.waking import deployments_wake
from apps.deployments.models import Deployment
from apps.deployments.services.autoscaling import autoscaling_update
from apps.routes.rows import routes_rows
from tests.factories import make_deployment
from tests.factories_serving import make_gateway

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def _asleep(**changes: object) -> Deployment:
    return make_deployment(**{"state": "scaled_to_zero", "wanted_replicas": 0, **changes})


def _fresh(deployment: Deployment) -> Deployment:
    return Deployment.objects.get(id=deployment.id)


def _report(**body: object) -> int:
    gateway = make_gateway(name="gateway")
    answer = Client().post(
        "/internal/v1/gateways/load",
        json.dumps({"sequence": 1, "seconds": 5, **body}),
        content_type="application/json",
        headers={"authorization": f"Bearer {gateway.name}"},
    )
    return answer.status_code


def test_a_request_that_waits_starts_a_replica_with_the_report_that_tells_of_it() -> None:
    deployment = _asleep()
    assert _report(deployments={deployment.id: {"requests": 0.1, "held": 2}}) == 200
    assert (_fresh(deployment).wanted_replicas, _fresh(deployment).state) == (1, "waking_up")
    decision = decision_list(deployment=deployment).get()
    assert (decision.code, decision.sentence) == ("woken", "A request waits for a replica.")
    assert GatewayLoad.objects.get().loads[deployment.id]["held"] == 2


def test_whom_a_client_asks_to_wake_starts_as_many_as_its_least_number() -> None:
    deployment = _asleep(min_replica=2, max_replica=3)
    assert _report(woken=[deployment.id]) == 200
    assert _fresh(deployment).wanted_replicas == 2


def test_two_gateways_that_ask_at_once_wake_it_once() -> None:
    deployment = _asleep()
    assert deployments_wake(ids=[deployment.id]) == [deployment.id]
    assert deployments_wake(ids=[deployment.id]) == []
    assert decision_list(deployment=deployment).count() == 1


@pytest.mark.parametrize("state", ["inactive", "deactivating", "deploy_failed", "build_failed"])
def test_what_a_person_or_a_failure_stopped_is_not_woken(state: str) -> None:
    assert deployments_wake(ids=[_asleep(state=state).id]) == []


def test_while_the_last_replica_leaves_gateways_hold_requests_already() -> None:
    leaving = make_deployment(state="active", wanted_replicas=0)
    row = routes_rows({"deployments": [leaving.id]})["deployments"][leaving.id]
    assert row["status"] == "SCALED_TO_ZERO"
    assert deployments_wake(ids=[leaving.id]) == [leaving.id]
    row = routes_rows({"deployments": [leaving.id]})["deployments"][leaving.id]
    assert row["status"] == "WAKING_UP"


def test_a_least_number_above_none_wakes_it_without_a_request() -> None:
    deployment = _asleep()
    answer = autoscaling_update(deployment=deployment, changes={"min_replica": 1})
    assert answer.message.startswith("Stored. It runs 1 replica")
    assert (_fresh(deployment).wanted_replicas, _fresh(deployment).state) == (1, "waking_up")


@pytest.mark.parametrize(
    "body",
    [
        {"seconds": -1},
        {"deployments": {"a": {"requests": "many"}}},
        {"woken": "a"},
        {"deployments": {"a\0": {"requests": 1}}},
        {"woken": ["a\0"]},
    ],
)
def test_a_report_that_makes_no_sense_is_refused(body: dict[str, object]) -> None:
    assert _report(**body) == 400
    assert not GatewayLoad.objects.exists()

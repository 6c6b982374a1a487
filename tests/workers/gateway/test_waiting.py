"""What happens while no replica can answer."""

import threading
import time

import pytest

from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.scripts import answers

SLEEPING = "/m/modelaaa/deployment/sleeping/sync/v1/chat/completions"


def test_a_deployment_at_rest_says_so_and_when_to_come_back(serve, http):
    gateway, _ = serve(answers)

    answer = http.post(gateway.url + SLEEPING, json={})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert "is scaled to zero" in answer.json()["error"]["message"]
    assert answer.json()["error_code"] == "model_not_ready"


@pytest.mark.parametrize("status", ["LOADING_MODEL", "UNHEALTHY", "FAILED", "ANYTHING_NEW"])
def test_a_deployment_without_replicas_says_what_state_it_is_in(house, http, status):
    house.publish(status=status)

    answer = http.post(house.gateway().url + CHAT, json={})

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 5
    assert "`deploy01`" in answer.json()["error"]["message"]


def test_a_request_waits_for_the_replica_that_replaces_one_going_away(house, http, refusing_port):
    house.publish_snapshot(routes(refusing_port))
    gateway = house.gateway("--hold-seconds=30")
    replies = []
    asking = threading.Thread(
        target=lambda: replies.append(http.post(gateway.url + CHAT, json={"seed": 5}))
    )
    asking.start()
    time.sleep(0.1)  # the refused connection makes it wait; early routes would pass as well

    new = house.engine(answers)
    house.publish(new, environment="production")
    asking.join()

    assert replies[0].status_code == 200
    assert new.calls[0].json()["seed"] == 5


def test_a_request_does_not_wait_for_ever(house, http):
    house.publish()
    gateway = house.gateway("--hold-seconds=0.2")

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 503
    assert "has no ready replica" in answer.json()["error"]["message"]


def test_a_waiting_request_learns_that_its_deployment_was_deactivated(house, http):
    house.publish()
    gateway = house.gateway("--hold-seconds=30")
    replies = []
    asking = threading.Thread(target=lambda: replies.append(http.post(gateway.url + CHAT, json={})))
    asking.start()
    time.sleep(0.1)  # long enough to be held; if not, it gets the same answer

    house.publish(status="INACTIVE")
    asking.join()

    assert replies[0].status_code == 404


def test_requests_before_the_first_routes_are_told_to_come_back(house, http):
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert http.get(f"{gateway.url}/health").json()["status"] == "starting"

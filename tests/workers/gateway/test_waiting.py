"""What happens while no replica can answer."""

import socket
from types import SimpleNamespace

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import read_until
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.scripts import answers


@pytest.mark.parametrize("status", ["LOADING_MODEL", "UNHEALTHY", "FAILED", "ANYTHING_NEW"])
def test_a_deployment_without_replicas_says_what_state_it_is_in(house, http, status):
    house.publish(status=status)

    answer = http.post(house.gateway().url + CHAT, json={})

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 5
    assert "`deploy01`" in answer.json()["error"]["message"]


def test_a_request_waits_for_the_replica_that_replaces_one_going_away(
    house, http, background, refusing_port
):
    house.publish_snapshot(routes(refusing_port))
    gateway = house.gateway()
    future = background.submit(http.post, gateway.url + CHAT, json={"seed": 5})
    _wait_until_held(gateway)

    new = house.engine(answers)
    house.publish(new, environment="production")

    assert future.result(DEADLINE_SECONDS).status_code == 200
    assert new.calls[0].json()["seed"] == 5


def test_a_request_does_not_wait_for_ever(house, http, background):
    house.publish()
    gateway = house.gateway()
    future = background.submit(http.post, gateway.url + CHAT, json={})
    _wait_until_held(gateway)

    gateway.advance(3)
    assert gateway.waiting == 1
    gateway.advance(1)

    answer = future.result(DEADLINE_SECONDS)
    assert answer.status_code == 503
    assert "has no ready replica" in answer.json()["error"]["message"]


def test_the_only_replica_is_asked_again_though_it_took_no_connection_before(
    house, http, background
):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        house.publish(SimpleNamespace(port=busy.getsockname()[1]))
        gateway = house.gateway()
        answer = background.submit(http.post, gateway.url + CHAT, json={})
        _wait_until_held(gateway)
        gateway.advance(1)
        _wait_until_held(gateway)

        busy.listen()
        gateway.advance(1)

        busy.settimeout(DEADLINE_SECONDS)
        with busy.accept()[0] as connection:
            read_until(connection, b"\r\n\r\n")
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            assert answer.result(DEADLINE_SECONDS).status_code == 200


def test_one_that_never_takes_a_connection_is_not_waited_for_any_longer(
    house, http, background, refusing_port
):
    house.publish(SimpleNamespace(port=refusing_port))
    gateway = house.gateway()
    answer = background.submit(http.post, gateway.url + CHAT, json={})
    for _ in range(4):
        _wait_until_held(gateway)
        gateway.advance(1)

    assert answer.result(DEADLINE_SECONDS).status_code == 503


def test_a_waiting_request_learns_that_its_deployment_was_deactivated(house, http, background):
    house.publish()
    gateway = house.gateway()
    future = background.submit(http.post, gateway.url + CHAT, json={})
    _wait_until_held(gateway)

    house.publish(status="INACTIVE")

    assert future.result(DEADLINE_SECONDS).status_code == 404


def test_requests_before_the_first_routes_are_told_to_come_back(house, http):
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert http.get(f"{gateway.url}/health").json()["status"] == "starting"


def _wait_until_held(gateway: GatewayThread) -> None:
    wait_for(lambda: gateway.waiting == 1, what="a request that waits for routes")

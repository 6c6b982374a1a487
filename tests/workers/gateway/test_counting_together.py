"""Gateways that reach one Valkey let a key do what it may once, over real connections."""

import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT, KEY, METRICS_KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers
from tests.workers.gateway.stage.silent_proxy import SilentProxy
from workers.gateway.shared_limits import ANSWER_SECONDS, RETRY_SECONDS


@pytest.fixture
def proxy(broker: str) -> Iterator[SilentProxy]:
    proxy = SilentProxy(urlsplit(broker).port or 0)
    yield proxy
    proxy.close()


def test_a_key_runs_so_many_requests_at_a_time_over_all_gateways(house, http, broker):
    release = threading.Event()

    def slow(call: Call) -> None:
        release.wait(DEADLINE_SECONDS)
        answers(call)

    engine = house.engine(slow)
    _publish(house, engine.port, "keytogether", parallel_requests=1)
    first, second = house.gateway(), house.gateway()
    for gateway in (first, second):
        gateway.count_together(broker)

    with first.connect() as client:
        client.sendall(request_bytes())
        wait_for(lambda: engine.calls, what="the first request at the engine")
        refused = http.post(second.url + CHAT, json={})
        release.set()
        assert read_answer(client)[0] == 200

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert "1 requests at a time, and 1 run now" in refused.json()["error"]["message"]
    # The place is given back without a clock that moves.
    wait_for(lambda: http.post(second.url + CHAT, json={}).status_code == 200, what="the place")


def test_a_client_that_leaves_while_it_waits_to_be_counted_takes_no_place(house, http, broker):
    _publish(house, house.engine(answers).port, "keyleaving", parallel_requests=1)
    gateway = house.gateway()
    gateway.count_together(broker)

    def come_and_go() -> None:
        # Both in one turn of the loop: the question is on its way when the client is gone.
        with gateway.connect() as client:
            client.sendall(request_bytes())

    gateway.while_it_stands_still(come_and_go)

    wait_for(lambda: http.post(gateway.url + CHAT, json={}).status_code == 200, what="the place")
    assert gateway.inner.unfinished == 0


def test_a_valkey_that_says_nothing_is_waited_for_once(house, http, broker, proxy):
    _publish(house, house.engine(answers).port, "keysilent", requests_per_minute=600)
    gateway = house.gateway()
    gateway.count_together(broker.replace(f":{urlsplit(broker).port}", f":{proxy.port}"))

    proxy.is_silent = True
    assert _status_once_the_wait_ends(house, gateway) == 429  # its share begins empty
    assert not gateway.inner.limits.is_shared
    house.clock.advance(60)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200  # without a wait

    proxy.is_silent = False
    wait_for(
        lambda: gateway.inner.limits.is_shared,
        what="Valkey again",
        meanwhile=lambda: house.clock.advance(RETRY_SECONDS),
    )
    bearer = {"authorization": f"Bearer {METRICS_KEY}"}
    assert "gateway_limits_shared 1" in http.get(f"{gateway.url}/metrics", headers=bearer).text


def _publish(house: House, port: int, key_id: str, **limits: int) -> None:
    snapshot = routes(port)
    snapshot["keys"][digest(KEY)] = key_row(key_id, limits=limits)
    house.publish_snapshot(snapshot)


def _status_once_the_wait_ends(house: House, gateway: GatewayThread) -> int:
    with gateway.connect() as client:
        client.sendall(request_bytes())
        wait_for(lambda: gateway.inner.unfinished, what="the request")
        wait_for(
            lambda: not gateway.inner.unfinished,
            what="the end of the wait for an answer",
            meanwhile=lambda: house.clock.advance(ANSWER_SECONDS),
        )
        return read_answer(client)[0]

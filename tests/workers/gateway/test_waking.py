"""A deployment that sleeps: requests start it, wait for it in order, and not for ever."""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from controlplane.clock import SYSTEM
from controlplane.domain.wire.async_requests import ON_BEHALF_HEADER
from controlplane.domain.wire.traffic_mark import MARK_HEADER
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.control_plane import TOKEN, ControlPlane
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import (
    CHAT,
    FOREIGN_KEY,
    KEY,
    deployment_row,
    digest,
    key_row,
    routes,
)
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.control_plane import HttpControlPlane
from workers.gateway.gateway import Gateway
from workers.gateway.load import AWAKE_REQUESTS
from workers.gateway.load_reports import LoadReports
from workers.gateway.membership import Membership
from workers.gateway.settings import Bounds
from workers.gateway.storage import Storage

WAKE = "/m/modelaaa/environments/production/wake"


def _sleeping(house: House, **bounds: object) -> GatewayThread:
    house.publish(status="SCALED_TO_ZERO")
    return house.gateway(**bounds)


def _held(gateway: GatewayThread, count: int) -> None:
    wait_for(lambda: gateway.waiting == count, what=f"{count} requests that wait")


def test_requests_wait_for_a_deployment_that_wakes_and_are_served_in_their_order(
    house, http, background
):
    gateway = _sleeping(house)
    requests = []
    for number in range(3):
        requests.append(background.submit(http.post, gateway.url + CHAT, json={"seed": number}))
        _held(gateway, number + 1)
    chosen = []
    choose = gateway.inner.placing.choose
    gateway.inner.placing.choose = lambda *of: chosen.append(choose(*of)) or chosen[-1]
    order = list(gateway.inner._waiting._waiting)

    house.publish(status="WAKING_UP")
    assert gateway.waiting == 3
    assert list(gateway.inner._waiting._waiting) == order
    engine = house.engine(answers)
    house.publish(engine)

    assert [each.result(DEADLINE_SECONDS).status_code for each in requests] == [200, 200, 200]
    assert sorted(call.json()["seed"] for call in engine.calls) == [0, 1, 2]


def test_what_waits_is_told_at_once_and_counts_as_load(house, http, background):
    gateway = _sleeping(house)
    assert not gateway.inner.load.is_urgent.is_set()
    background.submit(http.post, gateway.url + CHAT, json={})
    _held(gateway, 1)
    assert gateway.inner.load.is_urgent.is_set()
    house.clock.advance(2)
    report = gateway.report()
    house.publish(house.engine(answers))
    assert report.deployments["deploy01"][:2] == (1.0, 1)
    assert not gateway.inner.load.is_urgent.is_set()


def test_a_request_does_not_wait_longer_for_a_start_than_is_set(house, http, background):
    gateway = _sleeping(house, wake_seconds=20)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    _held(gateway, 1)
    gateway.advance(15)
    house.publish(status="WAKING_UP")
    gateway.advance(5)
    assert gateway.waiting == 1
    gateway.advance(1)
    answer = future.result(DEADLINE_SECONDS)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert "no replica became ready" in answer.json()["error"]["message"]


def test_a_start_that_fails_ends_the_waiting_with_its_state(house, http, background):
    gateway = _sleeping(house)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    _held(gateway, 1)
    house.publish(status="DEPLOY_FAILED")
    answer = future.result(DEADLINE_SECONDS)
    assert answer.status_code == 503
    assert "could not be deployed" in answer.json()["error"]["message"]


@pytest.mark.parametrize("bounds", [{"waiting_requests": 1}, {"waiting_bytes": 100}])
def test_only_so_many_and_so_large_requests_wait(house, http, background, bounds):
    gateway = _sleeping(house, **bounds)
    first = background.submit(http.post, gateway.url + CHAT, json={"user": "x" * 200})
    _held(gateway, 1)
    answer = http.post(gateway.url + CHAT, json={})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    assert "is waking up" in answer.json()["error"]["message"]
    house.publish(house.engine(answers))
    assert first.result(DEADLINE_SECONDS).status_code == 200


def test_a_client_that_leaves_makes_room_for_another(house, background):
    gateway = _sleeping(house, waiting_requests=1)
    with gateway.connect() as client:
        head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
        client.sendall(f"{head}content-length: 2\r\n\r\n{{}}".encode())
        _held(gateway, 1)
    _held(gateway, 0)
    assert not gateway.inner._waiting.by_deployment


def test_wake_answers_at_once_and_is_told(house, http):
    gateway = _sleeping(house)
    answer = http.post(gateway.url + WAKE)
    assert (answer.status_code, answer.content) == (202, b"")
    assert gateway.inner.load.is_urgent.is_set()
    assert gateway.report().woken == ["deploy01"]
    assert gateway.report().woken == []
    assert http.get(gateway.url + WAKE).status_code == 405


def test_only_who_may_call_a_deployment_may_wake_it(house):
    gateway = _sleeping(house)
    bearer = {"authorization": f"Bearer {FOREIGN_KEY}"}
    assert httpx.post(gateway.url + WAKE, headers=bearer).status_code == 404
    assert gateway.report().woken == []


def test_an_asynchronous_request_keeps_a_replica_and_asks_for_no_second(house, http, background):
    snapshot = routes(status="SCALED_TO_ZERO")
    snapshot["keys"][digest("queuekey.x")] = key_row("queue000", traffic_mark="async")
    house.publish_snapshot(snapshot)
    gateway = house.gateway()
    headers = {
        "authorization": "Bearer queuekey.x",
        MARK_HEADER: "async",
        ON_BEHALF_HEADER: digest(KEY),
    }
    background.submit(http.post, gateway.url + CHAT, json={}, headers=headers)
    _held(gateway, 1)
    gateway.report()
    house.clock.advance(2)
    assert gateway.report().deployments["deploy01"][:2] == (0.001, 1)
    house.publish(house.engine(answers))


def test_load_is_the_mean_of_what_was_in_flight(house, http, background):
    gateway = house.gateway()
    house.publish(status="SCALED_TO_ZERO")
    gateway.report()
    house.clock.advance(3)
    background.submit(http.post, gateway.url + CHAT, json={})
    _held(gateway, 1)
    house.clock.advance(1)
    report = gateway.report()
    house.publish(house.engine(answers))
    assert (report.seconds, report.deployments["deploy01"][0]) == (4.0, 0.25)
    wait_for(lambda: not gateway.inner.exchanges, what="the end of the request")
    house.clock.advance(1)
    gateway.report()
    house.clock.advance(1)
    assert gateway.report().deployments == {}


def test_requests_of_a_benchmark_keep_a_deployment_awake_and_do_not_size_it(
    house, http, background
):
    snapshot = routes(status="SCALED_TO_ZERO")
    snapshot["keys"][digest(FOREIGN_KEY)] = key_row("keybench", traffic_mark="benchmark")
    house.publish_snapshot(snapshot)
    gateway = house.gateway()
    benchmark = {"authorization": f"Bearer {FOREIGN_KEY}", "x-enginehouse-traffic": "benchmark"}
    may_answer = threading.Event()

    def slow(call: Call) -> None:
        may_answer.wait(DEADLINE_SECONDS)
        answers(call)

    def told() -> object:
        house.clock.advance(1)
        return gateway.report().deployments["deploy01"]

    for _ in range(3):
        background.submit(http.post, gateway.url + CHAT, json={}, headers=benchmark)
    _held(gateway, 3)
    assert told() == (0.0, 3, 0.0), "three wait, so it wakes"
    snapshot["version"] += 1
    snapshot["models"]["modelaaa"]["deployments"]["deploy01"] |= deployment_row(
        house.engine(slow).port
    )
    house.publish_snapshot(snapshot)
    assert told() == (AWAKE_REQUESTS, 0, 0.0)
    background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: len(gateway.inner.exchanges) == 4, what="a request of a user")
    assert told() == (1.0, 0, 0.0)
    may_answer.set()


def test_a_report_that_is_lost_is_not_repeated_but_who_is_to_wake_is(tmp_path: Path):
    plane, clock = ControlPlane(), ManualClock()

    async def run() -> None:
        http = HttpControlPlane(plane.url)
        membership = Membership(http, Storage(tmp_path), token=TOKEN, name="a", address="b")
        gateway = Gateway(Bounds(), None, clock=clock)  # type: ignore[arg-type]
        reports = LoadReports(http, membership, gateway, clock=SYSTEM)
        await membership.credential()
        plane.go_away()
        gateway.load.wake("deploy01")
        await reports.send()
        plane.come_back()
        gateway.load.is_urgent.set()
        await reports.send()
        await http.close()

    try:
        asyncio.run(run())
        assert [each["woken"] for each in plane.loads] == [["deploy01"]]
    finally:
        plane.close()

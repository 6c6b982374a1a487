"""A replica of a silent node serves on for as long as its runner says that it lives."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.runner import Runner, suspect_row
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.snapshot_reading import read
from workers.gateway.suspects import ANSWER_SECONDS, LATE_SECONDS, TRUSTED_SECONDS


@pytest.fixture
def runner() -> Iterator[Callable[..., Runner]]:
    """Start runners, each beside an engine."""
    started: list[Runner] = []

    def start(**told: str | int) -> Runner:
        started.append(Runner(**told))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def stranger() -> Iterator[Callable[[bytes], int]]:
    """Listen at a port, answer whoever comes so, and close."""
    listeners: list[socket.socket] = []

    def serve(listener: socket.socket, answer: bytes) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, suppress(OSError):
                    client.sendall(answer)

    def listen(answer: bytes) -> int:
        listeners.append(socket.create_server(("127.0.0.1", 0)))
        threading.Thread(target=serve, args=(listeners[-1], answer), daemon=True).start()
        return int(listeners[-1].getsockname()[1])

    yield listen
    for each in listeners:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


def cut_off(house, *suspects, ready=(), **changes):
    """Publish routes in which these are suspects, of a deployment that has no ready replica."""
    values = {"status": "ACTIVE" if ready else "UNHEALTHY", "suspects": list(suspects), **changes}
    version = 1 if house.snapshot is None else house.snapshot["version"] + 1
    house.publish_snapshot(routes(*ready, version=version, **values))


def status(http, gateway) -> int:
    return http.post(gateway.url + CHAT, json={}).status_code


def test_it_serves_on_where_only_the_control_plane_does_not_hear_it(house, http, runner):
    engine, gateway = house.engine(answers), house.gateway()
    house.publish(engine)
    assert status(http, gateway) == 200
    cut_off(house, suspect_row(engine.port, runner().port))
    gateway.ask_suspects()
    assert status(http, gateway) == 200
    assert len(engine.calls) == 2


def test_it_is_trusted_for_three_seconds_after_an_answer(house, http, background, runner):
    engine, gateway, report = house.engine(answers), house.gateway(), runner()
    cut_off(house, suspect_row(engine.port, report.port))
    gateway.ask_suspects()
    report.close()
    for _ in range(int(TRUSTED_SECONDS)):
        gateway.advance(1)
        gateway.ask_suspects()
    assert status(http, gateway) == 200
    gateway.advance(0.5)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: gateway.waiting == 1, what="the request to be held for a late answer")
    gateway.advance(LATE_SECONDS)
    assert future.result(DEADLINE_SECONDS).status_code == 503
    assert status(http, gateway) == 503, "nobody waits for one that was silent for so long"
    assert len(engine.calls) == 1
    assert TRUSTED_SECONDS == 3


def test_a_request_waits_for_an_answer_that_is_late(house, http, background, runner):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, runner().port))
    gateway.ask_suspects()
    gateway.advance(TRUSTED_SECONDS + 0.5)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: gateway.waiting == 1, what="the request to be held")
    gateway.ask_suspects()
    assert future.result(DEADLINE_SECONDS).status_code == 200


def test_a_request_waits_on_for_one_that_lived_lately_though_it_is_held_long(
    house, http, background, runner
):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, runner().port))
    gateway.ask_suspects()
    gateway.advance(TRUSTED_SECONDS + 0.5)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: gateway.waiting == 1, what="the request to be held")
    gateway.advance(gateway.inner.bounds.hold_seconds + 1)
    assert gateway.waiting == 1, "its host may be busy"
    gateway.ask_suspects()
    assert future.result(DEADLINE_SECONDS).status_code == 200


def test_a_request_waits_for_the_first_answer_of_its_runner(house, http, background, runner):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, runner().port))
    future = background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: gateway.waiting == 1, what="the request to be held")
    gateway.ask_suspects()
    assert future.result(DEADLINE_SECONDS).status_code == 200


def test_where_nobody_answers_for_it_a_request_does_not_wait(house, http, refusing_port):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, refusing_port))
    gateway.ask_suspects()
    assert status(http, gateway) == 503
    assert engine.calls == []


@pytest.mark.parametrize(
    "told",
    [
        {"deployment_id": "deploy02"},
        {"replica_id": "rep01"},
        {"generation": 2},
        {"boot_id": "boot-2"},
    ],
)
def test_another_engine_at_its_place_is_not_taken_for_it(house, http, runner, told):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, runner(**told).port))
    gateway.ask_suspects()
    assert status(http, gateway) == 503
    assert engine.calls == []


def test_it_serves_beside_what_is_ready(house, http, runner):
    ready, suspect, gateway = house.engine(answers), house.engine(answers), house.gateway()
    row = suspect_row(suspect.port, runner(replica_id="rep07").port, id="rep07")
    cut_off(house, row, ready=(ready.port,))
    assert status(http, gateway) == 200
    assert (len(ready.calls), len(suspect.calls)) == (1, 0), "it has not said yet that it lives"
    gateway.ask_suspects()
    ready.close()
    assert [status(http, gateway) for _ in range(3)] == [200] * 3
    assert len(suspect.calls) == 3


def test_one_that_takes_connections_and_says_nothing_holds_nobody_up(house, http, runner):
    engine, gateway = house.engine(answers), house.gateway()
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        silent = suspect_row(engine.port, dumb.getsockname()[1], id="rep01")
        cut_off(house, suspect_row(engine.port, runner().port), silent)
        asking = gateway.begin_to_ask_suspects()
        # The one that answers serves before the other's time is up.
        wait_for(lambda: gateway.is_served_by_suspects(), what="the answer of the first")
        assert status(http, gateway) == 200
        house.clock.wait_for_waiters()
        gateway.advance(ANSWER_SECONDS)
        asking.result(DEADLINE_SECONDS)


def test_a_request_waits_for_a_runner_that_says_nothing_yet(house, http, background):
    engine, gateway = house.engine(answers), house.gateway()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        cut_off(house, suspect_row(engine.port, busy.getsockname()[1]))
        asking = gateway.begin_to_ask_suspects()
        house.clock.wait_for_waiters()
        gateway.advance(ANSWER_SECONDS)
        asking.result(DEADLINE_SECONDS)
        future = background.submit(http.post, gateway.url + CHAT, json={})
        wait_for(lambda: gateway.waiting == 1, what="the request to be held")
        gateway.advance(LATE_SECONDS)
        assert future.result(DEADLINE_SECONDS).status_code == 503
        assert status(http, gateway) == 503, "nobody waits for one that was silent for so long"


def test_one_that_is_slow_to_answer_leaves_the_others_their_turn(house, http, runner):
    engine, gateway = house.engine(answers), house.gateway()
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        silent = suspect_row(engine.port, dumb.getsockname()[1], id="rep01")
        cut_off(house, suspect_row(engine.port, runner().port), silent)
        asking = gateway.begin_to_ask_suspects()
        wait_for(lambda: gateway.is_served_by_suspects(), what="the answer of the first")
        gateway.advance(2)
        gateway.ask_suspects()
        gateway.advance(2)
        assert status(http, gateway) == 200, "it answered again while the other was waited for"
        asking.result(DEADLINE_SECONDS)


@pytest.mark.parametrize("answer", [b"x" * 100_000, b"HTTP/1.1 200 OK\r\n\r\n{}", b"\r\n", b""])
def test_a_stranger_at_its_port_is_refused_whatever_it_says(house, http, stranger, answer):
    engine, gateway = house.engine(answers), house.gateway()
    cut_off(house, suspect_row(engine.port, stranger(answer)))
    gateway.ask_suspects()
    assert status(http, gateway) == 503


def test_new_ones_are_asked_at_once_and_all_once_a_second(house, runner):
    engine, gateway = house.engine(answers), house.gateway()
    with gateway.asking_suspects():
        house.clock.wait_for_waiters()
        cut_off(house, suspect_row(engine.port, runner().port))
        wait_for(gateway.has_heard_a_suspect, what="its answer, without time passing")
        for _ in range(5):
            house.clock.wait_for_waiters()
            gateway.advance(1)
            wait_for(gateway.has_heard_a_suspect, what="an answer of this second")


def test_a_snapshot_of_a_control_plane_that_names_none_has_none():
    known = read(json.dumps(routes(9000)).encode())
    assert known.models["modelaaa"].deployments["deploy01"].suspects == ()

"""What is sent a second time, and what never is."""

import socket
import threading
from dataclasses import dataclass

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT
from tests.workers.gateway.stage.scripts import answers, streams


def test_a_request_that_an_engine_had_when_it_died_is_not_repeated(serve, http):
    def dies_with_its_second(call: Call) -> None:
        if call.number > 0:
            call.connection.close()
            raise OSError
        answers(call)

    gateway, engine = serve(dies_with_its_second)

    assert http.post(gateway.url + CHAT, json={}).status_code == 200
    assert http.post(gateway.url + CHAT, json={}).status_code == 502
    assert [call.number for call in engine.calls] == [0, 1]


def test_a_request_that_came_after_an_engine_had_closed_is_repeated_on_a_fresh_connection(
    serve, http
):
    gateway, engine = serve(answers)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200
    idle = engine.calls[0].connection

    with gateway.connect() as client:

        def ask_and_close() -> None:
            client.sendall(request_bytes())
            idle.shutdown(socket.SHUT_RDWR)

        gateway.while_it_stands_still(ask_and_close)
        status, _, _ = read_answer(client)

    assert status == 200
    assert [call.number for call in engine.calls] == [0, 0]


def test_a_reset_on_a_fresh_connection_is_not_repeated(house, http):
    def script(call: Call) -> None:
        call.connection.close()
        raise OSError

    engine = house.engine(script)
    house.publish(engine)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "engine_failed"
    assert len(engine.calls) == 1


def test_a_replica_that_refuses_connections_is_passed_over(house, http, refusing_port):
    engine = house.engine(answers)
    house.publish(engine)
    snapshot = house.snapshot
    replicas = snapshot["models"]["modelaaa"]["deployments"]["deploy01"]["replicas"]
    replicas.insert(0, {"id": "gone0", "host": "127.0.0.1", "port": refusing_port})
    gateway = house.gateway()

    for _ in range(3):
        answer = http.post(gateway.url + CHAT, json={})
        assert answer.status_code == 200
    assert house.record_of(answer)["replica_id"] == "rep00"


@pytest.mark.parametrize("status", [429, 503])
def test_a_full_replica_sends_the_request_on_to_another(house, http, status):
    full = house.engine(lambda call: call.answer({"error": "full"}, status))
    free = house.engine(answers)
    house.publish(full, free)
    gateway = house.gateway()

    assert http.post(gateway.url + CHAT, json={"seed": 1}).status_code == 200
    assert (len(full.calls), len(free.calls)) == (1, 1)
    assert free.calls[0].json()["seed"] == 1


def test_the_last_refusal_is_passed_on_when_every_replica_is_full(house, http):
    engines = [house.engine(lambda call: call.answer({"error": "full"}, 503)) for _ in range(2)]
    house.publish(*engines)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert (answer.status_code, answer.json()["error"]["message"]) == (503, "full")
    assert [len(engine.calls) for engine in engines] == [1, 1]


def begins_a_stream_and_dies(call: Call) -> None:
    call.begin_stream()
    call.connection.close()
    raise OSError


def test_nothing_is_repeated_once_the_client_has_an_event_of_an_answer(house, http):
    def breaks(call: Call) -> None:
        call.begin_stream()
        call.chunk(b"data: {}\n\n")
        call.connection.close()
        raise OSError

    engines = [house.engine(breaks), house.engine(breaks)]
    house.publish(*engines)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={"stream": True})

    assert b"event: error" in answer.content
    assert sum(len(engine.calls) for engine in engines) == 1


def test_the_head_of_a_stream_alone_keeps_no_request_from_another_engine(house, http):
    stops, goes_on = house.engine(begins_a_stream_and_dies), house.engine(streams)
    house.publish(stops, goes_on)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={"stream": True})

    assert (answer.status_code, answer.content.count(b"three")) == (200, 1)
    assert (len(stops.calls), len(goes_on.calls)) == (1, 1)
    assert house.record_of(answer)["status"] == 200


def test_a_stream_of_which_nothing_but_its_head_came_fails_with_its_own_status(house, http):
    house.publish(house.engine(begins_a_stream_and_dies))

    answer = http.post(house.gateway().url + CHAT, json={"stream": True})

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_failed")


def test_retries_stop_when_their_budget_is_spent(house, http):
    full = house.engine(lambda call: call.answer({"error": "full"}, 503))
    free = house.engine(answers)
    house.publish(full, free)
    gateway = house.gateway()

    statuses = [http.post(gateway.url + CHAT, json={}).status_code for _ in range(30)]

    assert statuses[:10] == [200] * 10
    assert 503 in statuses
    assert len(free.calls) <= 10 + 3


@dataclass
class Refusing:
    """Who listens nowhere."""

    port: int


def dies(call: Call) -> None:
    call.connection.close()
    raise OSError


def test_another_replica_is_asked_for_what_a_stopped_engine_had_not_answered(house, http):
    stops, goes_on = house.engine(dies), house.engine(answers)
    house.publish(stops, goes_on)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={"seed": 1})

    assert (answer.status_code, len(stops.calls), len(goes_on.calls)) == (200, 1, 1)
    assert goes_on.calls[0].json()["seed"] == 1
    assert house.record_of(answer)["replica_id"] == "rep01"


def test_what_waited_at_an_engine_that_stopped_is_asked_of_a_replica_that_came_since(
    house, http, background
):
    may_stop = threading.Event()

    def stops(call: Call) -> None:
        assert may_stop.wait(DEADLINE_SECONDS)
        dies(call)

    alone, came = house.engine(stops), house.engine(answers)
    house.publish(alone)
    url = house.gateway().url + CHAT
    answer = background.submit(http.post, url, json={})
    wait_for(lambda: alone.calls, what="the request at the engine")
    house.publish(alone, came)
    may_stop.set()

    assert answer.result(DEADLINE_SECONDS).status_code == 200
    assert (len(alone.calls), len(came.calls)) == (1, 1)


def test_a_refused_connection_is_passed_over_whatever_is_left_of_the_budget(
    house, http, refusing_port
):
    house.publish(Refusing(refusing_port), house.engine(answers))
    gateway = house.gateway()
    gateway.inner.retries.tokens = 0

    assert http.post(gateway.url + CHAT, json={}).status_code == 200


def test_a_request_that_stops_two_engines_is_sent_to_no_third(house, http):
    engines = [house.engine(dies) for _ in range(3)]
    house.publish(*engines)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 502
    assert "Two engines stopped" in answer.json()["error"]["message"]
    assert sum(len(engine.calls) for engine in engines) == 2


def test_where_it_is_unset_a_stopped_engine_is_told_of_at_once(house, http):
    stops, goes_on = house.engine(dies), house.engine(answers)
    house.publish(stops, goes_on)
    gateway = house.gateway(moves_unanswered=False)

    assert http.post(gateway.url + CHAT, json={}).status_code == 502
    assert (len(stops.calls), len(goes_on.calls)) == (1, 0)


def test_idle_connections_are_given_up_by_the_gateway_itself(serve, http):
    def script(call: Call) -> None:
        answers(call)
        call.wait_for_hang_up()
        hung_up.set()

    hung_up = threading.Event()
    gateway, engine = serve(script)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200

    gateway.advance(3.9)
    assert gateway.idle_upstream_connections == 1
    gateway.advance(0.1)
    assert hung_up.wait(DEADLINE_SECONDS)
    engine.script = answers
    assert http.post(gateway.url + CHAT, json={}).status_code == 200
    assert [call.number for call in engine.calls] == [0, 0]


def test_the_replica_with_less_to_do_is_chosen(house, http):
    release = threading.Event()

    def slow(call: Call) -> None:
        release.wait(DEADLINE_SECONDS)
        answers(call)

    engines = [house.engine(slow), house.engine(slow)]
    house.publish(*engines)
    gateway = house.gateway()
    threads = [
        threading.Thread(target=http.post, args=(gateway.url + CHAT,), kwargs={"json": {}})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    wait_for(
        lambda: sum(len(engine.calls) for engine in engines) == 4,
        what=lambda: f"four requests: {[engine.calls for engine in engines]}",
    )
    release.set()
    for thread in threads:
        thread.join()

    assert [len(engine.calls) for engine in engines] == [2, 2]

"""A mistake of the gateway's own costs the request in which it happens, and says so."""

import json
import threading

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import (
    read_answer,
    read_until,
    read_until_closed,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, METRICS_KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers, piece
from tests.workers.gateway.stage.slipping import MISTAKE, put_in_mistakes

STREAM = b'{"model":"m","messages":[],"stream":true}'
ONE_AT_A_TIME = "alone000.0123456789abcdef"


@pytest.fixture
def slipping(serve, house, monkeypatch):
    """A gateway with mistakes in it, its engine, and a key that may ask one thing at a time."""
    put_in_mistakes(monkeypatch.setattr)
    gateway, engine = serve(answers)
    snapshot = routes(engine.port, version=2)
    limits = {"requests_per_minute": None, "parallel_requests": 1}
    snapshot["keys"][digest(ONE_AT_A_TIME)] = key_row("keyalone", limits=limits)
    house.publish_snapshot(snapshot)
    return gateway, engine


def answer_to(gateway, request: bytes):
    """The answer and what follows it on a connection of its own."""
    with gateway.connect() as connection:
        connection.sendall(request)
        status, headers, body = read_answer(connection)
        return status, headers, json.loads(body), read_until_closed(connection)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT + "?slip=admit", b"{}"),
        (CHAT + "?slip=begin", b"{}"),
        (CHAT, b'{"user":"slip-in-prepare"}'),
        (CHAT + "?slip=ask", b"{}"),
        (CHAT, b'{"user":"x-slip"}'),
    ],
)
def test_a_mistake_before_the_first_byte_is_a_500_with_an_id_and_the_log_has_its_traceback(
    slipping, caplog, path, body
):
    def script(call: Call) -> None:
        call.answer({"id": "1"}, extra="x-slip: yes\r\n" if b"x-slip" in call.body else "")

    gateway, engine = slipping
    engine.script = script
    for _ in range(2):  # the second would be 429 if the first had not been let go
        status, headers, answer, rest = answer_to(
            gateway, request_bytes(body, path=path, key=ONE_AT_A_TIME)
        )
        assert (status, answer["error"]["type"], answer["error"]["code"]) == (
            500, "server_error", "gateway_failed",
        )  # fmt: skip
        assert (headers["connection"], rest) == ("close", b"")
        log = caplog.text
        report = log[log.index(headers["x-request-id"]) :]
        assert "Traceback" in report
        assert f"RuntimeError: {MISTAKE}" in report
        assert ONE_AT_A_TIME not in log


def test_a_mistake_in_an_answer_of_its_own_is_told_in_the_shape_of_that_route(slipping):
    gateway, _ = slipping
    request = request_bytes(b"", path="/health?slip=health", method="GET")
    status, _, answer, _ = answer_to(gateway, request)
    assert (status, answer["error_code"]) == (500, "server_error")
    assert answer["error"] == answer["detail"]


def test_a_mistake_in_the_middle_of_a_stream_is_an_event_and_the_engine_is_let_go(slipping, house):
    begun, hung_up = threading.Event(), threading.Event()

    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("one"))
        assert begun.wait(DEADLINE_SECONDS)
        call.event(piece("slip-in-feed"))
        call.wait_for_hang_up()
        hung_up.set()

    gateway, engine = slipping
    engine.script = script
    with gateway.connect() as connection:
        connection.sendall(request_bytes(STREAM))
        answer = read_until(connection, b'"content": "one"')
        begun.set()
        answer += read_until_closed(connection)
    assert b'event: error\ndata: {"error": {"message": "The gateway failed' in answer
    assert b"[DONE]" not in answer
    assert answer.endswith(b"0\r\n\r\n")
    assert hung_up.wait(DEADLINE_SECONDS)
    assert house.closed_record(request_id(answer))["status"] == 500


def test_mistakes_are_counted(slipping, http):
    gateway, _ = slipping
    headers = {"authorization": f"Bearer {METRICS_KEY}"}
    answer_to(gateway, request_bytes(path=CHAT + "?slip=begin"))

    assert "\ngateway_slips_total 1.0\n" in http.get(gateway.url + "/metrics", headers=headers).text
    assert http.post(gateway.url + CHAT, content=b"{}").status_code == 200

"""A client that leaves stops the engine's work at once."""

import threading

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import (
    read_until,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.scripts import USAGE, answers, piece

STREAM = b'{"model":"m","messages":[],"stream":true}'


class Watched:
    """A script that begins (or not) to answer, then tells when the gateway hung up."""

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        self.asked, self.hung_up = threading.Event(), threading.Event()

    def __call__(self, call: Call) -> None:
        if self.streams:
            call.begin_stream()
            call.event(piece("one"))
        self.asked.set()
        call.wait_for_hang_up()
        self.hung_up.set()


@pytest.mark.parametrize("streams", [True, False])
def test_the_engine_is_hung_up_on_when_the_client_leaves(house, serve, streams):
    script = Watched(streams=streams)
    gateway, _ = serve(script)
    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        assert script.asked.wait(DEADLINE_SECONDS)
        if streams:
            read_until(client, b"\r\n\r\n")

    # The clock stands: it is the leaving that does it, and no time limit.
    assert script.hung_up.wait(DEADLINE_SECONDS)
    (id,) = gateway.records()
    assert house.closed_record(id)["status"] == 499


def test_a_client_that_leaves_at_the_end_marker_was_answered(house, serve):
    hung_up = threading.Event()

    def ends_without_last_chunk(call: Call) -> None:
        call.begin_stream()
        call.event(piece("one"))
        call.event({"id": "c", "choices": [], "usage": USAGE})
        call.chunk(b"data: [DONE]\n\n")
        call.wait_for_hang_up()
        hung_up.set()

    gateway, _ = serve(ends_without_last_chunk)
    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        answer = read_until(client, b"data: [DONE]\n\n")

    assert hung_up.wait(DEADLINE_SECONDS)
    record = house.closed_record(request_id(answer))
    assert (record["status"], record["completion_tokens"]) == (200, 3)


def test_the_next_client_is_served_after_one_left(serve, http):
    script = Watched(streams=True)
    gateway, engine = serve(script)
    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        assert script.asked.wait(DEADLINE_SECONDS)
    engine.script = answers

    url = f"{gateway.url}/m/modelaaa/production/predict"
    assert http.post(url, json={}).status_code == 200

"""A client that leaves stops the engine's work at once."""

import threading
import time

import pytest

from tests.timing import quickest
from tests.workers.gateway.stage.connections import (
    read_until,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.scripts import USAGE, answers, piece
from tests.workers.gateway.stage.waiting import until

LONGEST_SECONDS = 0.05
STREAM = b'{"model":"m","messages":[],"stream":true}'


class Watched:
    """A script that begins (or not) to answer, then notes when the gateway hung up."""

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        self.asked, self.hung_up_at = threading.Event(), 0.0

    def __call__(self, call: Call) -> None:
        if self.streams:
            call.begin_stream()
            call.event(piece("one"))
        self.asked.set()
        self.hung_up_at = call.wait_for_hang_up()


@pytest.mark.parametrize("streams", [True, False])
def test_the_engine_is_hung_up_on_when_the_client_leaves(shared_house, serve, streams):
    def seconds_until_hung_up() -> float:
        script = Watched(streams=streams)
        gateway, _ = serve(script)
        client = gateway.connect()
        client.sendall(request_bytes(STREAM))
        assert script.asked.wait(30)
        if streams:
            id = request_id(read_until(client, b"\r\n\r\n"))
        left_at = time.monotonic()
        client.close()
        until(lambda: script.hung_up_at)
        if streams:
            assert shared_house.closed_record(id)["status"] == 499
        return script.hung_up_at - left_at

    seconds = quickest(seconds_until_hung_up, enough=LONGEST_SECONDS, tries=20)
    assert seconds <= LONGEST_SECONDS


def test_a_client_that_leaves_at_the_end_marker_was_answered(shared_house, serve):
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

    assert hung_up.wait(30)
    record = shared_house.closed_record(request_id(answer))
    assert (record["status"], record["completion_tokens"]) == (200, 3)


def test_the_next_client_is_served_after_one_left(serve, http):
    script = Watched(streams=True)
    gateway, engine = serve(script)
    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        assert script.asked.wait(30)
    engine.script = answers

    url = f"{gateway.url}/m/modelaaa/production/predict"
    assert http.post(url, json={}).status_code == 200

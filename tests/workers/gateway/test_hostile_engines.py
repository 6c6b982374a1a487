"""Engines that have gone mad: they cost bounded memory, and their clients hear of it."""

import threading

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import read_answer, read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.scripts import answers

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
WITHOUT_END = {
    "many headers": (HEAD, b"x: y\r\n" * 1000),
    "one header": (HEAD + b"x: ", b"y" * 32768),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 100),
    "an extension of a chunk": (HEAD + b"transfer-encoding: chunked\r\n\r\n2;", b"y" * 32768),
    "trailers": (HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 1000),
}


class Endless:
    """The script of an engine that sends until it is hung up on."""

    def __init__(self, begins: bytes, goes_on: bytes) -> None:
        self._begins, self._goes_on = begins, goes_on
        self.was_cut_off = threading.Event()

    def __call__(self, call: Call) -> None:
        try:
            call.send(self._begins)
            for _ in range(2000):
                call.send(self._goes_on)
        except OSError:
            self.was_cut_off.set()


@pytest.mark.parametrize(("begins", "goes_on"), WITHOUT_END.values(), ids=WITHOUT_END)
def test_what_an_answer_carries_beside_its_body_has_an_end(serve, begins, goes_on):
    gateway, engine = serve(script := Endless(begins, goes_on))

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        answer = read_until_closed(client)

    # Whoever has the head already can only be told by a cut.
    has_head = b"\r\n\r\n" in begins
    assert answer.startswith(b"HTTP/1.1 502 ") or (
        has_head and not answer.endswith(b"\r\n0\r\n\r\n")
    )
    assert script.was_cut_off.wait(DEADLINE_SECONDS)
    engine.script = answers
    with gateway.connect() as client:
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200

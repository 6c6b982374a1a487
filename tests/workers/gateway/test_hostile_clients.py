"""Clients that mean harm: every bound holds to the last byte of a message."""

import threading
from contextlib import suppress

import pytest

from tests.workers.gateway.stage.connections import read_answer, read_until_closed, request_bytes
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import answers

CHUNKED = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"
CHUNKED += "transfer-encoding: chunked\r\n\r\n"
WITHOUT_END = {
    "many trailers": (b"0\r\n", b"x: y\r\n" * 4096),
    "one trailer": (b"0\r\nx: ", b"y" * 32768),
    "the name of a trailer": (b"0\r\n", b"y" * 32768),
    "a chunk's extension": (b"2;a=", b"y" * 32768),
    "zeros before a chunk's size": (b"", b"0" * 32768),
}


@pytest.mark.parametrize(("begins", "goes_on"), WITHOUT_END.values(), ids=WITHOUT_END)
def test_what_a_body_carries_beside_itself_has_an_end(serve, begins, goes_on):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        client.sendall(CHUNKED.encode() + begins)
        sender = threading.Thread(target=_send, args=(client, goes_on, 2000))
        sender.start()
        answer = read_until_closed(client)
        sender.join()

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"chunk lines or trailers hold more than 65536 bytes" in answer
    assert engine.calls == []


def test_trailers_are_dropped_and_change_nothing_that_the_head_decided(serve):
    gateway, engine = serve(answers)
    trailers = b"authorization: Bearer x\r\nx-late: 1\r\ncontent-type: a/b\r\n"

    with gateway.connect() as client:
        client.sendall(CHUNKED.encode() + b"2\r\n{}\r\n0\r\n" + trailers + b"\r\n")
        assert read_answer(client)[0] == 200
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200

    assert "x-late" not in engine.calls[0].headers
    assert "content-type" not in engine.calls[0].headers


def _send(client, data: bytes, times: int) -> None:
    with suppress(OSError):
        for _ in range(times):
            client.sendall(data)

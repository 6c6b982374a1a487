"""A host that goes dark says nothing: the system and the gateway must notice by themselves."""

import socket

from controlplane.keepalive import USER_TIMEOUT_SECONDS
from tests.waiting import wait_for
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.scripts import answers
from workers.gateway import upstream


def _timeouts_of_idle(gateway) -> list[tuple[int, int]]:
    """Return of each idle connection to an engine whether it is probed, and its user timeout."""
    sockets = [
        connection._socket
        for each in gateway.inner.placing.pool._by_address.values()
        for connection in each._idle
    ]
    return [
        (
            each.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            each.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
        )
        for each in sockets
    ]


def test_a_connection_to_an_engine_is_probed_and_ends_when_nothing_is_acknowledged(serve):
    gateway, _ = serve(answers)
    large = b'{"messages":[],"user":"%b"}' % (b"x" * 100_000)

    with gateway.connect() as client:
        for body, timeout in ((b"{}", USER_TIMEOUT_SECONDS * 1000), (large, 0), (b"{}", 10_000)):
            client.sendall(request_bytes(body))
            assert read_answer(client)[0] == 200
            assert _timeouts_of_idle(gateway) == [(1, timeout)]


def test_an_engine_whose_host_is_silent_under_a_large_body_is_left(serve, monkeypatch):
    gateway, engine = serve(lambda call: call.wait_for_hang_up())
    large = b'{"messages":[],"user":"%b"}' % (b"x" * 100_000)

    with gateway.connect() as client:
        client.sendall(request_bytes(large))
        wait_for(lambda: engine.calls, what="the request at the engine")
        gateway.advance(1)
        assert len(gateway.inner.exchanges) == 1, "its host has acknowledged what it was sent"
        monkeypatch.setattr(upstream, "silent_seconds", lambda _: USER_TIMEOUT_SECONDS + 1)
        gateway.advance(1)
        status, _, body = read_answer(client)

    assert status == 502
    assert b"engine_failed" in body

"""A runner says whose its engine is, to whoever asks for it and nothing else."""

import json
import selectors
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from controlplane.domain.wire.identity import Identity
from tests.waiting import DEADLINE_SECONDS, wait_for
from workers.agent.identity_server import MOST_CONNECTIONS, MOST_REQUEST_BYTES, IdentityServer
from workers.runtimes.ports import NoFreePort, PortRange, ports_below_the_kernels

WHO = Identity(deployment_id="deploy01", replica_id="rep00", generation=3, boot_id="boot-1")
ASKED = b"GET /identity HTTP/1.1\r\nhost: engine\r\n\r\n"


@pytest.fixture
def server() -> Iterator[IdentityServer]:
    made = IdentityServer(WHO, "127.0.0.1", ports_below_the_kernels())
    yield made
    made.close()


def connect(server: IdentityServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_SECONDS)


def serve(server: IdentityServer) -> None:
    """Do once what the runner's loop does when something has come."""
    with selectors.DefaultSelector() as loop:
        loop.register(server, selectors.EVENT_READ)
        if loop.select(timeout=0.05):
            server.turn()


def answer(server: IdentityServer, client: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    client.setblocking(False)
    outcome = bytearray()

    def ended() -> bool:
        serve(server)
        with suppress(BlockingIOError):
            if piece := client.recv(65_536):
                outcome.extend(piece)
                return False
            return True
        return False

    wait_for(ended, what="the end of the answer")
    return bytes(outcome)


def test_it_tells_which_engine_of_which_deployment_and_generation_lives(
    server: IdentityServer,
) -> None:
    with connect(server) as client:
        client.sendall(ASKED)
        head, _, body = answer(server, client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(body) == {
        "deployment_id": "deploy01",
        "replica_id": "rep00",
        "generation": 3,
        "boot_id": "boot-1",
    }
    assert WHO.is_in(body)


@pytest.mark.parametrize(
    "asked",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /identity/../health HTTP/1.1\r\n\r\n",
        b"POST /identity HTTP/1.1\r\n\r\n",
        b"GET /identity HTTP/1.0\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
    ],
)
def test_whatever_else_is_asked_is_not_found(server: IdentityServer, asked: bytes) -> None:
    with connect(server) as client:
        client.sendall(asked)
        assert answer(server, client).startswith(b"HTTP/1.1 404 Not Found\r\n")


def test_a_question_may_come_in_pieces(server: IdentityServer) -> None:
    with connect(server) as client:
        for piece in (ASKED[:9], ASKED[9:-1]):
            client.sendall(piece)
            serve(server)
            serve(server)
        client.sendall(ASKED[-1:])
        assert b"deploy01" in answer(server, client)


def test_who_asks_without_end_is_cut_off(server: IdentityServer) -> None:
    with connect(server) as client:
        client.sendall(b"G" * (MOST_REQUEST_BYTES + 1))
        with suppress(ConnectionResetError):
            assert answer(server, client) == b""


def test_those_who_ask_nothing_are_in_nobodys_way(server: IdentityServer) -> None:
    silent = []
    for _ in range(3 * MOST_CONNECTIONS):
        silent.append(connect(server))
        serve(server)
    with connect(server) as client:
        client.sendall(ASKED)
        assert b"deploy01" in answer(server, client)
    for each in silent:
        each.close()


def test_once_closed_nobody_is_answered(server: IdentityServer) -> None:
    with connect(server) as client:
        serve(server)
        server.close()
        assert client.recv(10) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(server)


def test_it_takes_no_port_but_one_of_the_node(server: IdentityServer) -> None:
    lowest, highest = ports_below_the_kernels()
    assert lowest <= server.port <= highest
    with pytest.raises(NoFreePort):
        IdentityServer(WHO, "127.0.0.1", PortRange(server.port, server.port))


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"{}",
        b"[]",
        b"not JSON",
        WHO.to_json().replace(b"deploy01", b"deploy02"),
        WHO.to_json().replace(b"rep00", b"rep01"),
        WHO.to_json().replace(b": 3", b": 4"),
        WHO.to_json().replace(b"boot-1", b"boot-2"),
        WHO.to_json().replace(b"{", b'{"more": 1, '),
    ],
)
def test_another_engines_answer_is_not_taken_for_it(told: bytes) -> None:
    assert not WHO.is_in(told)

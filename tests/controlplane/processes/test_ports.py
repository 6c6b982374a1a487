"""Listening sockets: the wanted port, the next free one, or a clear refusal."""

import socket
from contextlib import closing

import pytest

from controlplane.processes import ports
from tests.waiting import DEADLINE_SECONDS


def test_the_preferred_port_is_taken_when_it_is_free() -> None:
    with (
        closing(ports.reserved()) as kept,
        closing(ports.listen("127.0.0.1", ports.port_of(kept))) as listener,
    ):
        assert ports.port_of(listener) == ports.port_of(kept)


def test_the_next_free_port_is_taken_when_the_preferred_is_not() -> None:
    with (
        closing(ports.listen("127.0.0.1", 0)) as first,
        closing(ports.listen("127.0.0.1", ports.port_of(first))) as second,
    ):
        assert ports.port_of(second) > ports.port_of(first)


def test_a_reserved_port_is_a_servers_again_after_its_end_and_refuses_meanwhile() -> None:
    with closing(ports.reserved()) as kept:
        address = ("127.0.0.1", ports.port_of(kept))
        for _ in range(2):
            with closing(ports.listen(*address)) as server:
                assert ports.port_of(server) == ports.port_of(kept)
                socket.create_connection(address, timeout=DEADLINE_SECONDS).close()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address, timeout=DEADLINE_SECONDS)
        with closing(socket.socket()) as other, pytest.raises(OSError, match="in use"):
            other.bind(address)


def test_a_waiting_connection_survives_until_somebody_accepts_it() -> None:
    listener = ports.listen("127.0.0.1", 0)
    address = ("127.0.0.1", ports.port_of(listener))
    with closing(listener), socket.create_connection(address, timeout=DEADLINE_SECONDS) as client:
        client.sendall(b"early")
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with closing(accepted):
            assert accepted.recv(5) == b"early"


def test_too_many_taken_ports_are_an_error_that_names_them() -> None:
    with closing(ports.listen("127.0.0.1", 0)) as listener:
        taken = ports.port_of(listener)
        with pytest.raises(ports.NoFreePort, match=f"Ports {taken} to {taken}"):
            ports.listen("127.0.0.1", taken, tries=1)

"""Listening sockets: the wanted port, the next free one, or a clear refusal."""

import socket
from contextlib import closing

import pytest

from controlplane.processes import ports


def test_the_preferred_port_is_taken_when_it_is_free() -> None:
    wanted = ports.free_port()
    with closing(ports.listen("127.0.0.1", wanted)) as listener:
        assert ports.port_of(listener) == wanted


def test_the_next_free_port_is_taken_when_the_preferred_is_not() -> None:
    with (
        closing(ports.listen("127.0.0.1", ports.free_port())) as first,
        closing(ports.listen("127.0.0.1", ports.port_of(first))) as second,
    ):
        assert ports.port_of(second) > ports.port_of(first)


def test_a_waiting_connection_survives_until_somebody_accepts_it() -> None:
    listener = ports.listen("127.0.0.1", ports.free_port())
    address = ("127.0.0.1", ports.port_of(listener))
    with closing(listener), socket.create_connection(address, timeout=2) as client:
        client.sendall(b"early")
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with closing(accepted):
            assert accepted.recv(5) == b"early"


def test_too_many_taken_ports_are_an_error_that_names_them() -> None:
    with closing(ports.listen("127.0.0.1", ports.free_port())) as listener:
        taken = ports.port_of(listener)
        with pytest.raises(ports.NoFreePort, match=f"Ports {taken} to {taken}"):
            ports.listen("127.0.0.1", taken, tries=1)

"""The system is told how long a connection may be without a sign of life."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from controlplane.keepalive import (
    IDLE_SECONDS,
    INTERVAL_SECONDS,
    KEEPALIVE,
    PROBES,
    USER_TIMEOUT_SECONDS,
    bytes_acknowledged,
    end_when_unacknowledged,
    probe_when_quiet,
    silent_seconds,
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection's two ends; the listener of the second is told to probe."""
    with ExitStack() as open_ones:
        listener = open_ones.enter_context(socket.create_server(("127.0.0.1", 0)))
        probe_when_quiet(listener)
        near = open_ones.enter_context(socket.create_connection(listener.getsockname()))
        far = open_ones.enter_context(listener.accept()[0])
        yield near, far


def test_silence_ends_a_connection_within_fifteen_seconds() -> None:
    assert IDLE_SECONDS + PROBES * INTERVAL_SECONDS <= 15
    assert USER_TIMEOUT_SECONDS + INTERVAL_SECONDS <= 15


def test_what_a_listener_is_told_holds_for_what_it_accepts(pair) -> None:
    assert pair[1].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    for option, value in KEEPALIVE.items():
        assert pair[1].getsockopt(socket.IPPROTO_TCP, option) == value


def test_bytes_that_nobody_acknowledges_have_a_time(pair) -> None:
    end_when_unacknowledged(pair[0], after_seconds=1.5)
    assert pair[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1500


def test_a_peer_that_acknowledges_is_not_silent(pair) -> None:
    near, far = pair
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    assert 0 <= silent_seconds(near) < 60


def test_bytes_that_reached_an_open_socket_are_told_from_those_that_came_too_late(pair) -> None:
    near, far = pair
    near.sendall(b"read")
    assert far.recv(4) == b"read"
    far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    far.close()  # by a reset
    with pytest.raises(ConnectionError):
        near.sendall(b"too late")
    assert bytes_acknowledged(near) == 4


def test_bytes_that_were_read_before_an_end_count_as_acknowledged(pair) -> None:
    near, far = pair
    near.sendall(b"read")
    assert far.recv(4) == b"read"
    far.close()
    assert near.recv(1) == b""
    assert bytes_acknowledged(near) == 4


def test_sockets_of_one_host_are_left_alone() -> None:
    near, far = socket.socketpair()
    with near, far:
        probe_when_quiet(near)
        end_when_unacknowledged(near, after_seconds=1)
        assert silent_seconds(near) == 0

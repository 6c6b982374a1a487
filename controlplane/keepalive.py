"""How long a connection may be without a sign of life from its peer's host before it ends."""

import socket
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

IDLE_SECONDS, INTERVAL_SECONDS, PROBES = 5, 3, 3
USER_TIMEOUT_SECONDS = 10
"""Of bytes that nobody acknowledges. With the probes: an end within 15 s of silence."""
KEEPALIVE: Mapping[int, int] = MappingProxyType(
    {
        socket.TCP_KEEPIDLE: IDLE_SECONDS,
        socket.TCP_KEEPINTVL: INTERVAL_SECONDS,
        socket.TCP_KEEPCNT: PROBES,
    }
)
_LAST_ACK_RECEIVED = struct.Struct("=I")
_LAST_ACK_RECEIVED_AT = 56
"""Where Linux's `struct tcp_info` has `tcpi_last_ack_recv`, in milliseconds."""
_BYTES_ACKNOWLEDGED = struct.Struct("=Q")
_BYTES_ACKNOWLEDGED_AT = 120
"""Where it has `tcpi_bytes_acked`, which counts the connection's opening as one."""
_TCP_INFO_BYTES = 128


class Socket(Protocol):
    """What a socket and an event loop's stand-in for one have in common."""

    family: int

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...

    def getsockopt(self, level: int, option: int, size_bytes: int, /) -> bytes: ...


def probe_when_quiet(connection: Socket) -> None:
    """Let a connection end whose peer's host answers no probe."""
    if connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def end_when_unacknowledged(connection: Socket, *, after_seconds: float) -> None:
    """Let a connection end whose bytes nobody acknowledges; 0 leaves that to the system.

    The system counts a peer that is there and reads nothing as one that is not.
    """
    if connection.family != socket.AF_UNIX:
        milliseconds = round(after_seconds * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def silent_seconds(connection: Socket) -> float:
    """Return how long ago the peer's host acknowledged anything."""
    if connection.family == socket.AF_UNIX:
        return 0.0
    return float(_LAST_ACK_RECEIVED.unpack_from(_info(connection), _LAST_ACK_RECEIVED_AT)[0]) / 1000


def bytes_acknowledged(connection: Socket) -> int:
    """Return how many of the bytes sent have reached a socket of the peer's that was open.

    Whether the peer's program has read them is not known. Also of a connection that was reset.
    """
    count = _BYTES_ACKNOWLEDGED.unpack_from(_info(connection), _BYTES_ACKNOWLEDGED_AT)
    return max(0, int(count[0]) - 1)


def _info(connection: Socket) -> bytes:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)

"""Tells gateways that an engine lives, and which: one small answer on a port of the node's own.

Asked only while the control plane does not hear the node. It serves from the loop of the runner,
which has a single thread: nothing here waits, and who asks slowly or too often is cut off.
"""

import selectors
import socket
from collections import deque
from contextlib import suppress

from controlplane.domain.wire.identity import IDENTITY_PATH, Identity
from workers.runtimes.ports import NoFreePort, PortRange, free_port

MOST_CONNECTIONS = 8
MOST_REQUEST_BYTES = 1024
_TRIES = 5


class IdentityServer:
    """Answers `GET /identity` and nothing else, until it is closed."""

    def __init__(self, identity: Identity, host: str, ports: PortRange) -> None:
        """Raises NoFreePort."""
        self._answer = _response(b"200 OK", identity.to_json())
        self._listener = _listener(host, ports)
        self.port: int = self._listener.getsockname()[1]
        # It has a descriptor itself, by which the runner's own loop hears of all connections.
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._asking: deque[_Asking] = deque()

    def fileno(self) -> int:
        """Return what becomes readable when `turn` has something to do."""
        return self._selector.fileno()

    def turn(self) -> None:
        """Take who comes, and answer who has asked; returns at once."""
        for key, _ in self._selector.select(timeout=0):
            if key.fileobj is self._listener:
                self._accept()
            else:
                self._hear(key.data)

    def close(self) -> None:
        """Stop answering; a repeat changes nothing."""
        while self._asking:
            self._drop(self._asking[0])
        self._listener.close()
        self._selector.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it has left already
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            if len(self._asking) == MOST_CONNECTIONS:
                self._drop(self._asking[0])
            asking = _Asking(connection)
            self._asking.append(asking)
            self._selector.register(connection, selectors.EVENT_READ, asking)

    def _hear(self, asking: "_Asking") -> None:
        try:
            is_whole = asking.hear()
        except OSError:
            self._drop(asking)
            return
        if is_whole:
            with suppress(OSError):
                asking.connection.send(self._answer_to(asking))
            self._drop(asking)

    def _answer_to(self, asking: "_Asking") -> bytes:
        return self._answer if asking.asks_for(IDENTITY_PATH) else _NOT_FOUND

    def _drop(self, asking: "_Asking") -> None:
        if asking in self._asking:
            self._asking.remove(asking)
            self._selector.unregister(asking.connection)
            asking.connection.close()


class _Asking:
    """Someone who is connected, and what was heard of the request."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._received = b""

    def hear(self) -> bool:
        """Return whether the request is whole. Raises OSError where it ended, or is too long."""
        try:
            data = self.connection.recv(MOST_REQUEST_BYTES)
        except BlockingIOError:
            return False
        self._received += data
        if not data or len(self._received) > MOST_REQUEST_BYTES:
            raise ConnectionAbortedError
        return b"\r\n\r\n" in self._received

    def asks_for(self, path: str) -> bool:
        return self._received.startswith(f"GET {path} HTTP/1.1\r\n".encode())


def _response(status: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\n" % status
    return head + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)


def _listener(host: str, ports: PortRange) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(_TRIES):
        listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            listener.bind((host, free_port(host, ports)))
            listener.listen(MOST_CONNECTIONS)
        except NoFreePort:
            listener.close()
            raise
        except OSError:  # another was quicker
            listener.close()
        else:
            return listener
    raise NoFreePort(f"others took each of {_TRIES} ports of {ports.lowest} to {ports.highest}")


_NOT_FOUND = _response(b"404 Not Found", b"{}")

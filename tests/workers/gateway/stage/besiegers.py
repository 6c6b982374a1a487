"""Clients that mean harm, each for as long as it is let: what it sends has no end."""

import select
import socket
import threading
from contextlib import suppress

from tests.workers.gateway.stage.connections import request_bytes
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.routes import CHAT

GREEDY_KEY = "greedy00.0123456789abcdef"
_HEAD = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {GREEDY_KEY}\r\n"
_STREAM = b'{"messages":[],"stream":true}'


def _begins(head: str, goes_on: bytes) -> tuple[bytes, bytes]:
    return head.encode(), goes_on


ENDLESS = {
    "trailers": _begins(_HEAD + "transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 5000),
    "a trailer": _begins(_HEAD + "transfer-encoding: chunked\r\n\r\n0\r\nx: ", b"y" * 32768),
    "an extension": _begins(_HEAD + "transfer-encoding: chunked\r\n\r\n2;", b"y" * 32768),
    "a head": _begins(_HEAD, b"x: y\r\n" * 5000),
    "a body at health": _begins(
        "POST /health HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n",
        b"8000\r\n%b\r\n" % bytes(0x8000),
    ),
    "a body at metrics": _begins(
        "POST /metrics HTTP/1.1\r\nhost: g\r\ncontent-length: 99000000\r\n\r\n", bytes(32768)
    ),
    "a large body": _begins(_HEAD + "content-length: 99000000\r\n\r\n", bytes(32768)),
    "offers to upgrade": _begins(
        "", request_bytes(b"", "/nowhere", extra="connection: upgrade\r\nupgrade: h2c\r\n") * 100
    ),
    "requests without a key": _begins("", request_bytes(b"{}", key="none") * 100),
    "other streams": _begins("", request_bytes(_STREAM, key=GREEDY_KEY) * 20),
    "nonsense": _begins("", b"\x00\xff" * 16384),
}


class Siege:
    """Sends all of it at once, each anew as soon as it is refused, until it is lifted.

    How much is the test's to say: threads that send freely take the interpreter from the gateway.
    """

    def __init__(self, gateway: GatewayThread) -> None:
        self._gateway = gateway
        self._is_lifted = threading.Event()
        self._allowed = {name: threading.Semaphore(0) for name in ENDLESS}
        self.waves = dict.fromkeys(ENDLESS, 0)
        self._threads = [
            threading.Thread(target=self._send, args=(name, *sent))
            for name, sent in ENDLESS.items()
        ]
        for thread in self._threads:
            thread.start()

    def press_on(self, pieces: int) -> None:
        """Let each sender send so many pieces more."""
        for each in self._allowed.values():
            each.release(pieces)

    def lift(self) -> None:
        self._is_lifted.set()
        self.press_on(1)
        for thread in self._threads:
            thread.join()

    def _send(self, name: str, begins: bytes, goes_on: bytes) -> None:
        while not self._is_lifted.is_set():
            with suppress(OSError), self._gateway.connect() as connection:
                self._send_until_refused(name, connection, begins, goes_on)
            self.waves[name] += 1

    def _send_until_refused(
        self, name: str, connection: socket.socket, begins: bytes, goes_on: bytes
    ) -> None:
        connection.sendall(begins)
        while self._allowed[name].acquire() and not self._is_lifted.is_set():
            connection.sendall(goes_on)
            _forget_answers(connection)


def _forget_answers(connection: socket.socket) -> None:
    # With a time limit a socket waits in spite of MSG_DONTWAIT.
    while select.select([connection], [], [], 0)[0]:
        if not connection.recv(1 << 20):
            raise ConnectionResetError

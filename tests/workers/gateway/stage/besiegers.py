"""Clients that mean harm, each for as long as it is let: what it sends has no end."""

import json
import select
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from tests.workers.gateway.stage.connections import request_bytes
from tests.workers.gateway.stage.mad_engines import MAD
from tests.workers.gateway.stage.routes import CHAT, deployment_row, digest, key_row

GREEDY_KEY, MAD_KEY = "greedy00.0123456789abcdef", "madkey00.0123456789abcdef"
MAD_CHAT = CHAT.replace("modelaaa", "modelmad")
_HEAD = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {GREEDY_KEY}\r\n"
_STREAM = b'{"messages":[],"stream":true}'


@dataclass(frozen=True)
class Sender:
    """What a client begins a connection with, and what it then sends again and again."""

    begins: str
    goes_on: bytes
    price: int = 1
    """In pieces of a cheap one: what the test's own threads have to do for one of its."""


def _asks_mad_engine(way: str) -> Sender:
    body = json.dumps({"messages": [], "stream": way == "an event", "user": way}).encode()
    price = 160 if way == "an event" else 16
    return Sender("", request_bytes(body, MAD_CHAT, MAD_KEY), price)


ENDLESS = {
    "trailers": Sender(_HEAD + "transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 5000),
    "a trailer": Sender(_HEAD + "transfer-encoding: chunked\r\n\r\n0\r\nx: ", b"y" * 32768),
    "an extension": Sender(_HEAD + "transfer-encoding: chunked\r\n\r\n2;", b"y" * 32768),
    "a head": Sender(_HEAD, b"x: y\r\n" * 5000),
    "a body at health": Sender(
        "POST /health HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n",
        b"8000\r\n%b\r\n" % bytes(0x8000),
    ),
    "a body at metrics": Sender(
        "POST /metrics HTTP/1.1\r\nhost: g\r\ncontent-length: 99000000\r\n\r\n", bytes(32768)
    ),
    "a large body": Sender(_HEAD + "content-length: 99000000\r\n\r\n", bytes(32768)),
    "a body that stands still": Sender(
        _HEAD + "content-length: 99000000\r\n\r\n" + "x" * 100_000, b""
    ),
    "a body drop by drop": Sender(_HEAD + "content-length: 99000000\r\n\r\n", b"x", 16),
    "a head that stands still": Sender(_HEAD, b""),
    "a head drop by drop": Sender(_HEAD + "x: ", b"x", 16),
    "offers to upgrade": Sender(
        "", request_bytes(b"", "/nowhere", extra="connection: upgrade\r\nupgrade: h2c\r\n") * 100
    ),
    "requests without a key": Sender("", request_bytes(b"{}", key="none") * 100),
    "other streams": Sender("", request_bytes(_STREAM, key=GREEDY_KEY) * 20),
    "nonsense": Sender("", b"\x00\xff" * 16384),
} | {f"asks an engine for {way}": _asks_mad_engine(way) for way in MAD}
SERVED = {"offers to upgrade", "requests without a key", "other streams"} | {
    name for name in ENDLESS if name.startswith("asks an engine for ")
}
"""Those whose connections are not closed by the gateway, or not by it alone."""


def besieged(snapshot: dict[str, Any], mad_port: int) -> dict[str, Any]:
    """Return routes with the besiegers' keys, and with a model whose engine has gone mad."""
    keys = {
        digest(GREEDY_KEY): key_row("keygreed", limits={"parallel_requests": 2}),
        digest(MAD_KEY): key_row("keymadma"),
    }
    mad = {
        "name": "mad",
        "team_id": "teamaaaa",
        "environments": {"production": "deploymad"},
        "deployments": {"deploymad": deployment_row(mad_port)},
    }
    models = snapshot["models"] | {"modelmad": mad}
    return snapshot | {"keys": snapshot["keys"] | keys, "models": models}


class Besieged(Protocol):
    """A gateway, wherever it runs."""

    def connect(self) -> socket.socket: ...


class Siege:
    """Sends all of it at once, each anew as soon as it is refused, until it is lifted.

    How much is the test's to say: threads that send freely take the processor from the gateway.
    """

    def __init__(self, gateway: Besieged) -> None:
        self._gateway = gateway
        self._is_lifted = threading.Event()
        self._allowed = {name: threading.Semaphore(0) for name in ENDLESS}
        self._unspent = dict.fromkeys(ENDLESS, 0)
        self.waves = dict.fromkeys(ENDLESS, 0)
        self._threads = [
            threading.Thread(target=self._send, args=(name, sender))
            for name, sender in ENDLESS.items()
        ]
        for thread in self._threads:
            thread.start()

    def press_on(self, pieces: int) -> None:
        """Let each sender send so many pieces more, or as many as that pays for."""
        for name, sender in ENDLESS.items():
            count, self._unspent[name] = divmod(self._unspent[name] + pieces, sender.price)
            if count:
                self._allowed[name].release(count)

    def lift(self) -> None:
        self._is_lifted.set()
        for each in self._allowed.values():
            each.release()
        for thread in self._threads:
            thread.join()

    def _send(self, name: str, sender: Sender) -> None:
        while not self._is_lifted.is_set():
            with suppress(OSError), self._gateway.connect() as connection:
                self._send_until_refused(name, sender, connection)
            self.waves[name] += 1

    def _send_until_refused(self, name: str, sender: Sender, connection: socket.socket) -> None:
        connection.sendall(sender.begins.encode())
        while self._allowed[name].acquire() and not self._is_lifted.is_set():
            connection.sendall(sender.goes_on)
            _forget_answers(connection)


def _forget_answers(connection: socket.socket) -> None:
    # With a time limit a socket waits in spite of MSG_DONTWAIT.
    while select.select([connection], [], [], 0)[0]:
        if not connection.recv(1 << 20):
            raise ConnectionResetError

"""A slow client slows the engine down; the gateway keeps no more than a bounded part."""

import threading
import time

import psutil

from tests.workers.gateway.stage.connections import read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.waiting import until

PIECE = bytes(range(256)) * 4096
PIECES = 48
MOST_EXTRA_BYTES = 12 * 1024 * 1024


class Sender:
    """Sends 48 MB and counts what it got rid of."""

    def __init__(self) -> None:
        self.sent = 0
        self.finished = threading.Event()

    def __call__(self, call: Call) -> None:
        call.send(f"HTTP/1.1 200 OK\r\ncontent-length: {len(PIECE) * PIECES}\r\n\r\n".encode())
        for _ in range(PIECES):
            call.send(PIECE)
            self.sent += 1
        self.finished.set()

    def stands_still(self) -> bool:
        seen = self.sent
        time.sleep(0.3)  # loopback moves all of it in less
        return seen > 0 and self.sent == seen


def test_a_client_that_does_not_read_holds_the_engine_back_and_loses_nothing(serve):
    sender = Sender()
    gateway, _ = serve(sender)
    process = psutil.Process(gateway.process.pid)
    before = process.memory_info().rss

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        until(sender.stands_still)
        assert not sender.finished.is_set()
        assert process.memory_info().rss - before < MOST_EXTRA_BYTES
        answer = read_until_closed(client)

    assert answer.split(b"\r\n\r\n", 1)[1] == PIECE * PIECES
    assert sender.finished.wait(30)

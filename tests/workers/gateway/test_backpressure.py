"""A slow client slows the engine down; the gateway keeps no more than a bounded part."""

import threading
import time

import psutil

from tests.workers.gateway.stage import Call, read_until_closed, request_bytes, until

CONTENT = bytes(range(256)) * 4 * 1024 * 64  # 64 MB
MOST_EXTRA_BYTES = 16 * 1024 * 1024


def test_a_client_that_does_not_read_holds_the_engine_back_and_loses_nothing(serve):
    finished = threading.Event()

    def script(call: Call) -> None:
        head = f"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len(CONTENT)}\r\n\r\n"
        call.send(head.encode() + CONTENT)
        finished.set()

    gateway, engine = serve(script)
    process = psutil.Process(gateway.process.pid)
    before = process.memory_info().rss

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        until(lambda: engine.calls)
        until(lambda: _stands_still(process))
        assert not finished.is_set()
        assert process.memory_info().rss - before < MOST_EXTRA_BYTES
        answer = read_until_closed(client)

    assert answer.split(b"\r\n\r\n", 1)[1] == CONTENT
    assert finished.wait(5)


def _stands_still(process: psutil.Process) -> bool:
    seen = process.memory_info().rss
    time.sleep(0.2)  # long enough for a gateway that does not hold back to grow
    return process.memory_info().rss == seen

"""A slow client slows the engine down; the gateway keeps no more than a bounded part."""

import threading

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from workers.gateway.client_connection import ClientConnection
from workers.gateway.upstream import UpstreamConnection

PIECE = bytes(range(256)) * 4096
PIECES = 48
MOST_KEPT_BYTES = 1024 * 1024


class Sender:
    """Sends 48 MB, more than the sockets on the way hold together."""

    def __init__(self) -> None:
        self.finished = threading.Event()

    def __call__(self, call: Call) -> None:
        call.send(f"HTTP/1.1 200 OK\r\ncontent-length: {len(PIECE) * PIECES}\r\n\r\n".encode())
        for _ in range(PIECES):
            call.send(PIECE)
        self.finished.set()


class Kept:
    """Counts what the gateway has read of an engine and not handed to the client's socket."""

    def __init__(self, monkeypatch) -> None:
        self.most, self._read, self._written = 0, 0, 0
        data_received, write = UpstreamConnection.data_received, ClientConnection.write

        def counted_read(connection: UpstreamConnection, data: bytes) -> None:
            self._read += len(data)
            data_received(connection, data)

        def counted_write(connection: ClientConnection, data: bytes) -> None:
            self._written += len(data)
            write(connection, data)
            write_buffer_size = connection._transport.get_write_buffer_size()
            self.most = max(self.most, self._read - self._written + write_buffer_size)

        monkeypatch.setattr(UpstreamConnection, "data_received", counted_read)
        monkeypatch.setattr(ClientConnection, "write", counted_write)


def test_a_client_that_does_not_read_holds_the_engine_back_and_loses_nothing(serve, monkeypatch):
    sender, kept = Sender(), Kept(monkeypatch)
    gateway, _ = serve(sender)

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        wait_for(lambda: any(each._is_full for each in gateway.clients), what="a full client")
        assert not sender.finished.is_set()
        answer = read_until_closed(client)

    assert answer.split(b"\r\n\r\n", 1)[1] == PIECE * PIECES
    assert sender.finished.wait(DEADLINE_SECONDS)
    assert 0 < kept.most < MOST_KEPT_BYTES

"""An engine on a real socket that does what its script says."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.waiting import DEADLINE_SECONDS


class Call:
    """One request at an engine, with its connection to answer on."""

    def __init__(self, connection: socket.socket, head: bytes, body: bytes, number: int) -> None:
        self.connection, self.head, self.body = connection, head, body
        self.number = number
        """How many requests came before on this connection."""
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ", 2)
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines if line)}

    def json(self) -> Any:
        return json.loads(self.body)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def answer(self, body: bytes | dict[str, Any], status: int = 200, extra: str = "") -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}"
        self.send(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)

    def begin_stream(self) -> None:
        self.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nserver: engine\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def event(self, data: Any) -> None:
        self.chunk(f"data: {json.dumps(data)}\n\n".encode())

    def end_stream(self) -> None:
        self.chunk(b"data: [DONE]\n\n")
        self.send(b"0\r\n\r\n")

    def wait_for_hang_up(self) -> None:
        """Return once the gateway has closed this connection."""
        self.connection.settimeout(DEADLINE_SECONDS)
        with suppress(ConnectionResetError):
            assert self.connection.recv(1) == b""


Script = Callable[[Call], None]


class Engine:
    """A threaded HTTP server on a real socket that does exactly what its script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._accepts = threading.Thread(target=self._accept)
        self._accepts.start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepts.join()  # from now on no connection is added
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            thread = threading.Thread(target=self._serve_until_closed, args=(connection,))
            self._threads = [each for each in self._threads if each.is_alive()]
            thread.start()
            self._threads.append(thread)

    def _serve_until_closed(self, connection: socket.socket) -> None:
        with connection:
            self._serve(connection)
        self._open.discard(connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pending, number = b"", 0
        with suppress(OSError):
            while True:
                while b"\r\n\r\n" not in pending:
                    if not (data := connection.recv(65536)):
                        return
                    pending += data
                head, pending = pending.split(b"\r\n\r\n", 1)
                call = Call(connection, head, b"", number)
                length = int(call.headers.get("content-length", 0))
                while len(pending) < length:
                    if not (data := connection.recv(65536)):
                        return
                    pending += data
                call.body, pending = pending[:length], pending[length:]
                self.calls.append(call)
                self.script(call)
                number += 1

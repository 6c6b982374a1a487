"""A way to a server that loses every byte while it is told to, as a network does."""

import socket
import threading
from contextlib import suppress


class SilentProxy:
    """Carries connections to a port; `is_silent` drops what is sent and takes new connections."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self.is_silent = False
        self.connections = 0
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._accepts = threading.Thread(target=self._accept)
        self._accepts.start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepts.join()
        self._listener.close()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._to)
            self._open += [near, far]
            self.connections += 1
            for source, target in ((near, far), (far, near)):
                thread = threading.Thread(target=self._carry, args=(source, target))
                self._threads.append(thread)
                thread.start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.is_silent:
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)

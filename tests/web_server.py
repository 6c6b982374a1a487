"""Servers in threads of the test: the application as the web process has it, and Django's own.

What still works on a request after the test's end is waited for: emptying the database would wait
for it, it for that, and either could be given up.
"""

import gc
import http.client
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from tests.waiting import DEADLINE_SECONDS, wait_for

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `verify` of a client that speaks plain HTTP: reading the machine's takes 20 ms each time."""


@dataclass
class _Counted:
    """An application that knows how many requests it works on."""

    application: Any
    under_way: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.under_way += 1
        try:
            await self.application(scope, receive, send)
        finally:
            self.under_way -= 1


_running: dict[str, _Counted] = {}
"""The applications of `streaming_server`, by address."""


@contextmanager
def streaming_server() -> Iterator[str]:
    """The address of the application, served as the web process serves it."""
    from controlplane.asgi import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # From here on who connects waits, and is not refused, until the server is up.
    listener.listen(64)
    counted = _Counted(application)
    config = uvicorn.Config(counted, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    gc.freeze()  # so that what is looked through below is what was made since
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    _running[url] = counted
    try:
        yield url
    finally:
        del _running[url]
        server.should_exit = True
        thread.join(DEADLINE_SECONDS)
        listener.close()
        with warnings.catch_warnings():
            # The body of a request that was still streaming, which Django then leaves open.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


class Connections:
    """Those that Django's server for tests has taken up and not yet closed."""

    def __init__(self, url: str, server: Any) -> None:
        self.url = url
        self.open: set[socket.socket] = set()
        take_up, close = server.process_request, server.shutdown_request

        def process_request(connection: socket.socket, address: object) -> None:
            self.open.add(connection)
            take_up(connection, address)

        def shutdown_request(connection: socket.socket) -> None:
            close(connection)
            self.open.discard(connection)

        server.process_request, server.shutdown_request = process_request, shutdown_request


def wait_until_all_is_answered(live: Connections | None) -> None:
    """Return once no server works on a request of clients that have gone."""
    for url in (*([live.url] if live else []), *_running):
        # A server takes up who came before first.
        _ask_how_it_is(url)
    wait_for(
        lambda: not _under_way(live),
        what=lambda: f"servers in threads to answer what they work on: {_under_way(live)}",
    )


def _ask_how_it_is(url: str) -> None:
    # A client of httpx would read the machine's certificates each time.
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=DEADLINE_SECONDS)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    finally:
        connection.close()


def _under_way(live: Connections | None) -> list[str]:
    streams = [url for url, counted in _running.items() if counted.under_way]
    # A copy, made in one go: the threads of the server add to it and take from it meanwhile.
    return streams + ([str(each) for each in tuple(live.open)] if live else [])

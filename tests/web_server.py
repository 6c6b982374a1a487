"""The web process's own application under ASGI, in a thread of the test: pages that stream.

What still works on a request after the test's end is waited for: emptying the database would wait
for it, it for that, and either could be given up.
"""

import gc
import socket
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from tests.processes import wait_for

_ANSWERS = "(process_request_thread)"
"""In the name of a thread in which a server of Python's, Django's for tests too, answers."""


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
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    _running[url] = counted
    try:
        yield url
    finally:
        del _running[url]
        server.should_exit = True
        thread.join(60)
        listener.close()
        with warnings.catch_warnings():
            # The body of a request that was still streaming, which Django then leaves open.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def wait_until_all_is_answered(live_url: str, before: Collection[threading.Thread]) -> None:
    """Return once no server works on a request of clients that have gone.

    `live_url` is that of Django's server for tests, `before` the threads that are not its answers.
    """
    for url in (live_url, *_running):
        # A server takes up who came before first.
        httpx.get(f"{url}/healthz", timeout=60, trust_env=False)
    wait_for(lambda: not _under_way(before), seconds=60, what=lambda: _under_way(before))


def _under_way(before: Collection[threading.Thread]) -> list[str]:
    threads = [
        each.name
        for each in threading.enumerate()
        if each.name.endswith(_ANSWERS) and each not in before
    ]
    return threads + [url for url, counted in _running.items() if counted.under_way]

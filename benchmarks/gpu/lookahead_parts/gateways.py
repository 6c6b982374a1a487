"""The product's own gateway before a server, as a process of its own."""

import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.gateway_parts.processes import KEY, child, control_plane, routes
from benchmarks.gpu.lookahead_parts.servers import Server
from workers.runtimes.ports import free_port

ROUTES_SECONDS = 60


@contextmanager
def behind_gateway(server: Server) -> Iterator[Server]:
    """Give the server's address at a gateway that routes to it; its counters are its own."""
    port, engine_port = free_port("127.0.0.1"), int(server.url.rpartition(":")[2])
    snapshot = routes(engine_port, engine_port)
    with tempfile.TemporaryDirectory() as folder, control_plane(snapshot) as url:
        values = {
            "CONTROL_PLANE_URL": url, "DATA_DIR": folder, "ENROLLMENT_TOKEN": "token",
            "LOG_LEVEL": "WARNING", "BROKER_URL": "", "LISTEN_FDS": "",
        }  # fmt: skip
        with child("-m", "workers.gateway", f"--port={port}", port=port, environment=values):
            base = f"http://127.0.0.1:{port}/m/model000/environments/production/sync"
            _await_routes(base)
            yield replace(server, url=base, key=KEY, counters_url=server.url)


def _await_routes(base: str) -> None:
    """Wait until the gateway knows the model, which it hears of after it listens."""
    ended = time.monotonic() + ROUTES_SECONDS
    while True:
        request = urllib.request.Request(
            f"{base}/v1/models", headers={"Authorization": f"Bearer {KEY}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except urllib.error.HTTPError as refused:
            if time.monotonic() > ended:
                content = refused.read()[:300]
                raise RuntimeError(f"the gateway has no routes: {content!r}") from None
        time.sleep(0.2)

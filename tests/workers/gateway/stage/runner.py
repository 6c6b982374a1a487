"""What a runner tells gateways of its engine, from a thread of the test."""

import selectors
import threading

from controlplane.domain.wire.identity import Identity
from tests.waiting import DEADLINE_SECONDS
from workers.agent.identity_server import IdentityServer
from workers.runtimes.ports import ports_below_the_kernels

BOOT = "boot-1"


class Runner:
    """Tells whose its engine is until it is closed."""

    def __init__(self, **told: str | int) -> None:
        identity = {"deployment_id": "deploy01", "replica_id": "rep00", "generation": 1}
        self._server = IdentityServer(
            Identity(**{**identity, "boot_id": BOOT, **told}),  # type: ignore[arg-type]
            "127.0.0.1",
            ports_below_the_kernels(),
        )
        self.port = self._server.port
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ends.set()
        self._thread.join(DEADLINE_SECONDS)
        self._server.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as loop:
            loop.register(self._server, selectors.EVENT_READ)
            while not self._ends.is_set():
                loop.select(timeout=0.02)
                self._server.turn()


def suspect_row(port: int, probe_port: int, **changes: str | int) -> dict[str, str | int]:
    """Return a suspect as a snapshot names it."""
    return {
        "id": "rep00",
        "host": "127.0.0.1",
        "port": port,
        "probe_port": probe_port,
        "generation": 1,
        "boot_id": BOOT,
    } | changes

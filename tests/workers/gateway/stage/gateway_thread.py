"""The real gateway without a process of its own, and with the test's clock."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from tests.workers.gateway.stage.connections import connection_to
from tests.workers.gateway.stage.loop_thread import LoopThread
from workers.gateway.client_connection import ClientConnection
from workers.gateway.control_plane import HttpControlPlane
from workers.gateway.gateway import Gateway
from workers.gateway.journal import Journal, segments_in
from workers.gateway.load import LoadReport
from workers.gateway.process import BACKLOG
from workers.gateway.recorder import Recorder
from workers.gateway.settings import Bounds
from workers.gateway.shared_limits import SharedLimits
from workers.gateway.shipping import Shipper
from workers.gateway.snapshot_reading import read


class GatewayThread:
    """Serves on a real socket from a loop in a thread; keeps its books in a real journal.

    Nothing in it happens because time passes: `advance` moves the clock and then does what a
    process does once a second.
    """

    def __init__(self, folder: Path, clock: ManualClock, **bounds: Any) -> None:
        self._folder, self._clock = folder, clock
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._loop = LoopThread()
        self._loop.run(self._start(Bounds(**bounds)))

    def apply(self, snapshot: dict[str, Any]) -> None:
        self._loop.call(self.inner.apply, read(json.dumps(snapshot).encode()))

    def advance(self, seconds: float) -> None:
        self._loop.call(self._advance, seconds)

    def while_it_stands_still(self, act: Callable[[], None]) -> None:
        """Act between two turns of its loop, so that it learns of everything at once."""
        self._loop.call(act)

    def ask_suspects(self) -> None:
        """Ask once, as a process does each second."""
        self._loop.run(self.inner.suspects.ask())

    def probe_ejected(self) -> int:
        """Ask those that have rested, as a process does all the time; return how many."""
        return self._loop.run(self._probe_ejected())

    def begin_to_ask_suspects(self) -> "Future[None]":
        return self._loop.start(self.inner.suspects.ask())

    @contextmanager
    def asking_suspects(self) -> Iterator[None]:
        """Ask for as long as the body runs, as a process does."""
        asking = self._loop.start(self.inner.suspects.run())
        try:
            yield
        finally:
            asking.cancel()

    def has_heard_a_suspect(self) -> bool:
        """Return whether one has answered since the clock moved last, and is not being asked."""
        now = self._clock.monotonic()
        return now in self._loop.call(
            lambda: [each.answered_at for each in self.inner.suspects._known.values()]
        )

    def is_served_by_suspects(self) -> bool:
        """Return whether a suspect of the first deployment may be chosen."""
        snapshot = self.inner.routes.snapshot
        assert snapshot is not None
        deployment = snapshot.models["modelaaa"].deployments["deploy01"]
        return any(self._loop.call(lambda: [*self.inner.suspects.answering(deployment)]))

    def count_together(self, broker: str) -> None:
        """Share the limits of keys with all others at this broker from now on."""
        shared = SharedLimits(broker, self.inner.limits, clock=self._clock)
        self._loop.start(shared.run())
        wait_for(lambda: self.inner.limits.is_shared, what="an answer of Valkey")

    def connect(self) -> socket.socket:
        return connection_to(self.port)

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the newest usage record of each request."""
        lines = b"".join(each.path.read_bytes() for each in segments_in(self._folder))
        whole = lines[: lines.rfind(b"\n") + 1].splitlines()
        return {record["request_id"]: record for record in map(json.loads, whole)}

    @property
    def clients(self) -> list[ClientConnection]:
        return [each for each in list(self.inner.clients) if isinstance(each, ClientConnection)]

    def report(self) -> LoadReport:
        """Return what it would tell the control plane now."""
        return self._loop.call(self.inner.load_report)

    @property
    def waiting(self) -> int:
        """How many requests wait for routes to a replica."""
        return len(self.inner._waiting)

    @property
    def idle_upstream_connections(self) -> int:
        return sum(len(each._idle) for each in self.inner.placing.pool._by_address.values())

    def close(self) -> None:
        self._loop.call(self._stop)
        wait_for(lambda: not self.inner.clients, what="the end of its clients' connections")
        self._journal.close()
        self._loop.close()
        assert self._loop.mistakes == []

    async def _start(self, bounds: Bounds) -> None:
        self._journal = Journal(self._folder, clock=self._clock)
        # Nothing is shipped: whoever wants the records reads them from the journal.
        shipper = Shipper(Mock(spec=HttpControlPlane))
        recorder = Recorder(self._journal, shipper, clock=self._clock)
        self.inner = Gateway(bounds, recorder, clock=self._clock)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: ClientConnection(self.inner, clock=self._clock),
            sock=self._listener,
            backlog=BACKLOG,
        )

    async def _probe_ejected(self) -> int:
        probes = self.inner.placing.probes
        due = probes.due()
        await asyncio.gather(*map(probes.ask, due))
        return len(due)

    def _advance(self, seconds: float) -> None:
        # On the loop: so the clock moves between two steps of the gateway, never within one.
        self._clock.advance(seconds)
        self.inner.sweep()

    def _stop(self) -> None:
        self._server.close()
        self.inner.cut_off()
        self.inner.abort()

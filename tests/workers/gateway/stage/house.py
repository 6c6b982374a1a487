"""Engines and gateways in threads of the test, made as it asks for them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from tests.workers.gateway.stage.engine import Engine, Script
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.routes import routes


class Served(Protocol):
    """Something that answers like an engine."""

    @property
    def port(self) -> int: ...


@dataclass
class House:
    """One clock, which stands until the test moves it, for all that lives here."""

    folder: Path
    clock: ManualClock = field(default_factory=ManualClock)
    engines: list[Engine] = field(default_factory=list)
    gateways: list[GatewayThread] = field(default_factory=list)
    snapshot: dict[str, Any] | None = None

    def engine(self, script: Script) -> Engine:
        self.engines.append(Engine(script))
        return self.engines[-1]

    def publish(self, *engines: Served, **changes: Any) -> None:
        """Let every gateway serve by routes to `engines` from now on."""
        version = 1 if self.snapshot is None else self.snapshot["version"] + 1
        ports = [engine.port for engine in engines]
        self.publish_snapshot(routes(*ports, version=version, **changes))

    def publish_snapshot(self, snapshot: dict[str, Any]) -> None:
        self.snapshot = snapshot
        for gateway in self.gateways:
            gateway.apply(snapshot)

    def gateway(self, **bounds: Any) -> GatewayThread:
        folder = self.folder / f"journal{len(self.gateways)}"
        gateway = GatewayThread(folder, self.clock, **bounds)
        self.gateways.append(gateway)
        if self.snapshot is not None:
            gateway.apply(self.snapshot)
        return gateway

    def record_of(self, answer: httpx.Response) -> dict[str, Any]:
        """Return the usage record of an answer once it is closed."""
        return self.closed_record(answer.headers["x-request-id"])

    def closed_record(self, request_id: str) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            rows = [gateway.records().get(request_id) for gateway in self.gateways]
            return next((row for row in rows if row and row["state"] == "closed"), None)

        record = wait_for(found, what=f"the closed usage record of {request_id}")
        assert record is not None
        return record

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.close()
        for engine in self.engines:
            engine.close()

"""A control plane, and real processes of gateways that live by it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.waiting import wait_for
from tests.workers.gateway.stage.control_plane import ControlPlane
from tests.workers.gateway.stage.engine import Engine, Script
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.routes import routes


@dataclass
class ProcessHouse:
    """A control plane, engines and gateways, made as a test asks for them."""

    folder: Path
    plane: ControlPlane = field(default_factory=ControlPlane)
    engines: list[Engine] = field(default_factory=list)
    gateways: list[GatewayProcess] = field(default_factory=list)
    version: int = 0

    def engine(self, script: Script) -> Engine:
        self.engines.append(Engine(script))
        return self.engines[-1]

    def publish(self, *engines: Engine, **changes: Any) -> None:
        """Publish routes to `engines`, and wait until every gateway that runs has applied them."""
        ports = [engine.port for engine in engines]
        self.publish_snapshot(routes(*ports, version=self.version + 1, **changes))

    def publish_snapshot(self, snapshot: dict[str, Any]) -> None:
        applied = len(self.plane.applied)
        self.version = snapshot["version"]
        self.plane.snapshot = snapshot
        running = sum(gateway.process.poll() is None for gateway in self.gateways)
        self._wait_for_reports(running, after=applied)

    def gateway(
        self, *options: str, broker: str = "", kind: type[GatewayProcess] = GatewayProcess
    ) -> GatewayProcess:
        """Start one; give it back once it serves by the present routes, where there are any."""
        applied = len(self.plane.applied)
        folder = self.folder / f"data{len(self.gateways)}"
        gateway = kind(self.plane.url, folder, *options, broker=broker)
        self.gateways.append(gateway)
        if self.plane.snapshot is not None:
            self._wait_for_reports(1, after=applied)
        return gateway

    def record_of(self, answer: httpx.Response) -> dict[str, Any]:
        """Return the usage record of an answer once the control plane has it."""
        return self.closed_record(answer.headers["x-request-id"])

    def closed_record(self, request_id: str) -> dict[str, Any]:
        records = self.plane.records
        wait_for(
            lambda: records.get(request_id, {}).get("state") == "closed",
            what=lambda: f"the closed record of {request_id} among {records}",
        )
        return records[request_id]

    def wait_for_log(self, gateway: GatewayProcess, words: str) -> None:
        wait_for(
            lambda: words in gateway.log.read_text(),
            what=lambda: f"`{words}` in the log:\n{gateway.log.read_text()[-3000:]}",
        )

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.close()
        for engine in self.engines:
            engine.close()
        self.plane.close()

    def _wait_for_reports(self, gateways: int, *, after: int) -> None:
        """Wait until so many gateways have said that they have applied the present version."""
        wait_for(
            lambda: self.plane.applied[after:].count(self.version) >= gateways,
            what=lambda: f"{gateways} reports of {self.version}: {self.plane.applied}",
        )

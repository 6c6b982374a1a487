import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.workers.gateway.stage.control_plane import ControlPlane
from tests.workers.gateway.stage.engine import Engine, Script
from tests.workers.gateway.stage.gateway import GatewayProcess
from tests.workers.gateway.stage.routes import KEY, routes
from tests.workers.gateway.stage.waiting import until


@dataclass
class House:
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

    def gateway(self, *options: str, broker: str = "") -> GatewayProcess:
        applied = len(self.plane.applied)
        folder = self.folder / f"data{len(self.gateways)}"
        gateway = GatewayProcess(self.plane.url, folder, *options, broker=broker)
        self.gateways.append(gateway)
        if self.plane.snapshot is not None:
            self._wait_for_reports(1, after=applied)
        return gateway

    def record_of(self, answer: httpx.Response) -> dict[str, Any]:
        """Return the usage record of an answer once the control plane has it."""
        return self.closed_record(answer.headers["x-request-id"])

    def closed_record(self, request_id: str) -> dict[str, Any]:
        records = self.plane.records
        until(lambda: records.get(request_id, {}).get("state") == "closed")
        return records[request_id]

    def _wait_for_reports(self, gateways: int, *, after: int) -> None:
        """Wait until so many gateways have said that they have applied the present version."""
        until(lambda: self.plane.applied[after:].count(self.version) >= gateways)

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.close()
        for engine in self.engines:
            engine.close()
        self.plane.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Neighbours of one test's own."""
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture(scope="session")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One engine behind one gateway with everyday limits, for tests that change neither."""
    house = House(tmp_path_factory.mktemp("gateway"))
    house.publish(house.engine(lambda call: None))
    house.gateway()
    yield house
    house.close()


@pytest.fixture
def serve(shared_house: House) -> Callable[[Script], tuple[GatewayProcess, Engine]]:
    """Give the shared engine a script."""

    def serve(script: Script) -> tuple[GatewayProcess, Engine]:
        engine = shared_house.engines[0]
        engine.script = script
        engine.calls.clear()
        return shared_house.gateways[0], engine

    return serve


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else is given meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(headers={"authorization": f"Bearer {KEY}"}, timeout=20) as client:
        yield client

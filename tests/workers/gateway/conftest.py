from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.workers.gateway.stage import (
    KEY,
    ControlPlane,
    Engine,
    GatewayProcess,
    Script,
    routes,
    until,
)

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@dataclass
class House:
    """A control plane, engines and one gateway, made as a test asks for them."""

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
        self.version += 1
        ports = [engine.port for engine in engines]
        self.publish_snapshot(routes(*ports, version=self.version, **changes))

    def publish_snapshot(self, snapshot: dict[str, Any]) -> None:
        self.version = snapshot["version"]
        self.plane.snapshot = snapshot
        if self.gateways:
            until(lambda: self.version in self.plane.applied)

    def gateway(self, *options: str, broker: str = "") -> GatewayProcess:
        folder = self.folder / f"data{len(self.gateways)}"
        gateway = GatewayProcess(self.plane.url, folder, *options, broker=broker)
        self.gateways.append(gateway)
        if self.plane.snapshot is not None:
            until(lambda: self.version in self.plane.applied)
        return gateway

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.close()
        for engine in self.engines:
            engine.close()
        self.plane.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture
def served(house: House) -> Callable[..., tuple[GatewayProcess, Engine]]:
    """Serve one script through one gateway."""

    def serve(script: Script, *options: str, **changes: Any) -> tuple[GatewayProcess, Engine]:
        engine = house.engine(script)
        house.publish(engine, **changes)
        return house.gateway(*options), engine

    return serve


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(headers={"authorization": f"Bearer {KEY}"}, timeout=20) as client:
        yield client

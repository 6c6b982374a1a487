import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import NO_AUTHORITIES
from tests.workers.gateway.stage.engine import Engine, Script
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import KEY


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Gateways in threads of the test, and a clock that it moves."""
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture
def process_house(tmp_path: Path) -> Iterator[ProcessHouse]:
    """Gateways that are processes, for tests that kill and start them."""
    house = ProcessHouse(tmp_path)
    yield house
    house.close()


@pytest.fixture
def serve(house: House) -> Callable[[Script], tuple[GatewayThread, Engine]]:
    """Give the only engine behind the only gateway a script."""
    engine = house.engine(lambda call: None)
    house.publish(engine)
    gateway = house.gateway()

    def serve(script: Script) -> tuple[GatewayThread, Engine]:
        engine.script = script
        return gateway, engine

    return serve


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else is given meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    bearer = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(headers=bearer, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as client:
        yield client


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    """Threads for what is asked while the test goes on."""
    with ThreadPoolExecutor() as threads:
        yield threads

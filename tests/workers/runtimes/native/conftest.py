"""A real engine process over a tiny checkpoint."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates import Gates
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.webhook_receiver import WebhookReceiver
from tests.workers.runtimes.native.server import EngineServer


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("served") / "tiny")


@pytest.fixture(scope="session")
def gates() -> Iterator[Gates]:
    """The gates of `server`, which stand open unless a test holds them."""
    with Gates() as outcome:
        yield outcome


@pytest.fixture(scope="session")
def collector() -> Iterator[WebhookReceiver]:
    """The collector of OpenTelemetry that `server` is told of."""
    with WebhookReceiver(statuses=[200]) as webhook_receiver:
        yield webhook_receiver


@pytest.fixture(scope="session")
def server(
    tiny_folder: Path,
    gates: Gates,
    collector: WebhookReceiver,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EngineServer]:
    """An engine of four rows."""
    log = tmp_path_factory.mktemp("log") / "engine.log"
    options = ("--max-batch-size", "4")
    environment = {**gates.environment, "TRACES_URL": collector.url("")}
    with EngineServer(tiny_folder, log=log, options=options, environment=environment) as server:
        yield server

"""How long a replica may take to start, to be ready and to answer, by a clock of the test's."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.manual_clock import ManualClock
from tests.workers.agent.one_agent import AtOnce, runner_of
from tests.workers.agent.stand_in_engine import Handler
from workers.agent.capped_log import CappedLog
from workers.agent.replica import SILENT_LIMIT_SECONDS, SPAWN_SECONDS, Replica
from workers.agent.settings import Settings, read_settings


class Watched:
    """A replica and the one who looks at it."""

    def __init__(self, settings: Settings) -> None:
        self.clock = ManualClock(sleeping_moves_it=True)
        wanted = {"id": "aaaaa", "generation": 1, "runtime": "native"}
        self.replica = Replica.create(wanted, settings, clock=self.clock)
        self.folder = self.replica.folder

    def has_engine(self, port: int) -> None:
        """Let its runner have started an engine."""
        CappedLog(self.folder.log).write(b"loading\n")
        self.folder.write("engine", {"pid": 1, "host": "127.0.0.1", "port": port})

    def look(self, *, after: float = 0) -> dict[str, Any]:
        """Return what is seen after so many seconds."""
        self.clock.advance(after)
        self.replica.look(AtOnce())
        return self.replica.observed()

    def look_for(self, seconds: float, *, every: float) -> list[str]:
        """Return the states that are seen meanwhile."""
        return [self.look(after=every)["state"] for _ in range(round(seconds / every))]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"DATA_DIR": str(tmp_path)})


@pytest.fixture
def watched(settings: Settings) -> Watched:
    return Watched(settings)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port at which nobody listens, and nobody else can."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@contextmanager
def engine() -> Iterator[int]:
    """An engine that answers at this port."""
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_a_runner_that_never_says_who_it_is_has_not_started(watched: Watched) -> None:
    (watched.folder.path / "runner.log").write_text("No module named workers")
    assert watched.look(after=SPAWN_SECONDS - 0.1)["state"] == "starting"
    seen = watched.look(after=0.1)
    assert (seen["state"], seen["failure"]["code"]) == ("failed", "EHN-NOT-STARTED")
    assert "No module named workers" in seen["failure"]["sentence"]


def test_an_engine_that_does_not_become_ready_is_ended(
    watched: Watched, settings: Settings, silent_port: int
) -> None:
    watched.has_engine(silent_port)
    with runner_of(watched.folder, is_stuck=True):
        assert watched.look()["state"] == "loading"
        assert watched.look(after=settings.start_seconds)["state"] == "loading"
        watched.look(after=0.1)
        seen = watched.look()
    assert (seen["state"], seen["failure"]["code"]) == ("failed", "EHN-NEVER-READY")
    assert f"within {settings.start_seconds} seconds" in seen["failure"]["sentence"]


def test_the_time_to_become_ready_begins_with_the_engine_and_not_with_its_preparation(
    watched: Watched, settings: Settings, silent_port: int
) -> None:
    with runner_of(watched.folder):
        assert watched.look(after=2 * settings.start_seconds)["state"] == "starting"
        watched.has_engine(silent_port)
        assert watched.look()["state"] == "loading"
        assert watched.look(after=settings.start_seconds)["state"] == "loading"


def test_an_engine_that_stops_answering_is_ended(watched: Watched) -> None:
    with runner_of(watched.folder, is_stuck=True):
        with engine() as port:
            watched.has_engine(port)
            watched.look()
            assert set(watched.look_for(3 * SILENT_LIMIT_SECONDS, every=5)) == {"ready"}
        assert set(watched.look_for(SILENT_LIMIT_SECONDS, every=5)) == {"ready"}
        watched.look(after=0.1)
        seen = watched.look()
    assert (seen["state"], seen["failure"]["code"]) == ("failed", "EHN-NO-ANSWER")


def test_an_engine_that_drains_may_be_silent(watched: Watched) -> None:
    with runner_of(watched.folder, is_stuck=True):
        with engine() as port:
            watched.has_engine(port)
            watched.look()
        watched.replica.stop()
        seen = watched.look(after=30)
    assert (seen["state"], seen["failure"]) == ("draining", None)

"""How long a replica may take to start, to be ready and to answer, by a clock of the test's."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import HTTPServer
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Thread
from typing import Any

import pytest

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from tests.workers.agent.one_agent import AtOnce, runner_of
from tests.workers.agent.stand_in_engine import Handler
from workers.agent.capped_log import CappedLog
from workers.agent.folders import INSTANCE_VARIABLE, LEASE_VARIABLE, ReplicaFolder
from workers.agent.identity import is_stopped
from workers.agent.patience import LONGEST_STEP_SECONDS, MEASURE_SECONDS
from workers.agent.replica import SILENT_LIMIT_SECONDS, SPAWN_SECONDS, Replica
from workers.agent.settings import Settings, read_settings


class Watched:
    """A replica and the one who looks at it."""

    def __init__(self, settings: Settings) -> None:
        self.clock = ManualClock(sleeping_moves_it=True)
        target = {"id": "aaaaa", "generation": 1, "runtime": "native"}
        self.replica = Replica.create(target, settings, clock=self.clock)
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
    return read_settings({"DATA_DIR": str(tmp_path), "ENGINE_START_SECONDS": "120"})


@pytest.fixture
def watched(settings: Settings) -> Watched:
    return Watched(settings)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port at which nobody listens, and nobody else can."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


Working = Callable[[ReplicaFolder, str], None]
_COMPUTE = "while time.process_time() < 0.6: pass"
_READ = "open('/dev/zero', 'rb').read(2_000_000)"


@pytest.fixture
def working() -> Iterator[Working]:
    """Have a process of the replica do something that can be seen."""
    started: list[Popen[bytes]] = []

    def work(folder: ReplicaFolder, does: str) -> None:
        if does == "logs":
            CappedLog(folder.log).write(b"shard\n")
            return
        program = _COMPUTE if does == "computes" else _READ
        program = f"import time\n{program}\nprint('done', flush=True)\ntime.sleep(600)"
        argv = [sys.executable, "-c", program]
        marks = {LEASE_VARIABLE: folder.marker, INSTANCE_VARIABLE: folder.instance}
        started.append(Popen(argv, env={**os.environ, **marks}, stdout=PIPE))
        assert started[-1].stdout is not None
        assert started[-1].stdout.readline() == b"done\n"

    yield work
    for each in started:
        each.kill()
        each.communicate()


@pytest.fixture
def marked() -> Iterator[Callable[[ReplicaFolder], int]]:
    """Start a process that belongs to a replica and does nothing."""
    with ExitStack() as ended:

        def start(folder: ReplicaFolder) -> int:
            marks = {LEASE_VARIABLE: folder.marker, INSTANCE_VARIABLE: folder.instance}
            process = Popen(["sleep", "600"], env={**os.environ, **marks})
            ended.callback(process.wait)
            ended.callback(process.kill)
            return process.pid

        yield start


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
    assert set(watched.look_for(SPAWN_SECONDS - 1, every=1)) == {"starting"}
    seen = watched.look(after=1)
    assert (seen["state"], seen["failure"]["code"]) == ("failed", "EHN-NOT-STARTED")
    assert "No module named workers" in seen["failure"]["sentence"]


def test_a_runner_is_not_given_up_for_a_time_in_which_nobody_looked(watched: Watched) -> None:
    assert watched.look(after=3600)["state"] == "starting"
    with runner_of(watched.folder):
        assert watched.look(after=3600)["state"] == "starting"


def test_an_engine_that_loads_and_does_nothing_is_ended(
    watched: Watched, settings: Settings, silent_port: int
) -> None:
    watched.has_engine(silent_port)
    with runner_of(watched.folder, is_stuck=True):
        assert watched.look()["state"] == "loading"
        assert set(watched.look_for(settings.engine_start_seconds, every=5)) == {"loading"}
        watched.look_for(MEASURE_SECONDS, every=5)
        seen = watched.look()
    assert (seen["state"], seen["failure"]["code"]) == ("failed", "EHN-NEVER-READY")
    assert f"for {settings.engine_start_seconds} seconds" in seen["failure"]["sentence"]


@pytest.mark.parametrize(
    "does",
    ["logs", *(pytest.param(each, marks=pytest.mark.long) for each in ("computes", "reads"))],
)
def test_an_engine_that_gets_on_may_load_for_as_long_as_it_takes(
    watched: Watched, settings: Settings, silent_port: int, does: str, working: Working
) -> None:
    watched.has_engine(silent_port)
    with runner_of(watched.folder):
        watched.look()
        for _ in range(4):
            half = settings.engine_start_seconds / 2
            assert set(watched.look_for(half, every=LONGEST_STEP_SECONDS)) == {"loading"}
            working(watched.folder, does)


def test_the_time_to_become_ready_begins_with_the_engine_and_not_with_its_preparation(
    watched: Watched, settings: Settings, silent_port: int
) -> None:
    with runner_of(watched.folder):
        states = watched.look_for(2 * settings.engine_start_seconds, every=5)
        assert set(states) == {"starting"}
        watched.has_engine(silent_port)
        assert set(watched.look_for(settings.engine_start_seconds, every=5)) == {"loading"}


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


def test_an_engine_that_somebody_has_stopped_is_waited_for(
    watched: Watched, marked: Callable[[ReplicaFolder], int]
) -> None:
    with runner_of(watched.folder, is_stuck=True):
        with engine() as port:
            watched.has_engine(port)
            watched.look()
        stopped = marked(watched.folder)
        os.kill(stopped, signal.SIGSTOP)
        wait_for(lambda: is_stopped(stopped), what="the stop")
        assert set(watched.look_for(3 * SILENT_LIMIT_SECONDS, every=5)) == {"ready"}
        os.kill(stopped, signal.SIGCONT)
        assert watched.look_for(2 * SILENT_LIMIT_SECONDS, every=5)[-1] == "failed"


@pytest.mark.parametrize("seconds", [30, 61, 3600, 40 * 24 * 3600])
def test_an_agent_that_stood_still_ends_no_engine_for_it(watched: Watched, seconds: float) -> None:
    with runner_of(watched.folder), engine() as port:
        watched.has_engine(port)
        watched.look()
        for _ in range(5):
            assert watched.look(after=seconds)["state"] == "ready"


def test_an_agent_that_is_slow_finds_an_engine_that_hangs_all_the_same(watched: Watched) -> None:
    with runner_of(watched.folder, is_stuck=True):
        with engine() as port:
            watched.has_engine(port)
            watched.look()
        # As where its control plane takes what it sends, and never answers.
        states = watched.look_for(3 * SILENT_LIMIT_SECONDS, every=2 * LONGEST_STEP_SECONDS)
    assert states[-1] == "failed"


def test_an_engine_that_drains_may_be_silent(watched: Watched) -> None:
    with runner_of(watched.folder, is_stuck=True):
        with engine() as port:
            watched.has_engine(port)
            watched.look()
        watched.replica.stop()
        seen = watched.look(after=30)
    assert (seen["state"], seen["failure"]) == ("draining", None)

"""A replica as its agent sees it, over a real runner: it ends, and nothing of it stays."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.workers.agent.stage import PATIENCE_SECONDS, until
from workers.agent import replica as replica_module
from workers.agent.folders import ReplicaFolder
from workers.agent.reaping import kill_marked, marked_processes
from workers.agent.replica import Replica
from workers.agent.settings import Settings, read_settings

pytestmark = pytest.mark.recovery
SLEEP = "import time; print('up', flush=True); time.sleep(600)"
WITH_CHILD = f"import subprocess, sys\nsubprocess.Popen(['setsid', 'sleep', '600'])\n{SLEEP}"
Start = Callable[[str], Replica]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings(
        {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "ENGINE_DRAIN_SECONDS": "1"}
    )


@pytest.fixture
def create(settings: Settings) -> Iterator[Start]:
    """Make a replica whose engine is the given Python program; its runner is not started."""
    created: list[Replica] = []

    def one(program: str) -> Replica:
        replica = Replica.create({"id": "bbbbb", "generation": 1, "runtime": "native"}, settings)
        argv = [sys.executable, "-c", program]
        launch = {"argv": argv, "environment": {}, "host": "127.0.0.1", "port": 1}
        replica.folder.write("launch", launch)
        created.append(replica)
        return replica

    yield one
    for replica in created:
        replica.kill()
        assert replica._spawned is not None
        replica._spawned.wait(PATIENCE_SECONDS)
        assert kill_marked(replica.folder, timeout_seconds=PATIENCE_SECONDS)


@pytest.fixture
def look() -> Iterator[Callable[[Replica], bool]]:
    """Look at a replica once; whether it is over."""
    with ThreadPoolExecutor(1) as pool:

        def once(replica: Replica) -> bool:
            replica.look(pool)
            return replica.is_over

        yield once


def serve(replica: Replica) -> int:
    """Start the runner; the process id of it once its engine is up."""
    replica.start()
    until(lambda: replica.folder.log.exists() and "up" in replica.folder.log.read_text())
    runner = replica.folder.runner()
    assert runner is not None
    return runner.pid


def test_a_stop_that_no_signal_followed_is_carried_out_by_the_next_agent(
    create: Start, look: Callable[[Replica], bool], settings: Settings
) -> None:
    first = create(SLEEP)
    serve(first)
    (first.folder.path / "stop").touch()
    adopted = Replica(first.folder, settings)
    assert adopted.observed()["state"] == "draining"
    until(lambda: look(adopted))
    assert adopted.observed()["state"] == "stopped"
    assert marked_processes(first.folder) == []


def test_a_stop_before_the_runner_has_said_who_it_is_ends_the_replica(
    create: Start, look: Callable[[Replica], bool]
) -> None:
    replica = create(SLEEP)
    replica.start()
    replica.stop()
    until(lambda: look(replica) and not replica.is_running())
    assert replica.observed()["state"] == "stopped"
    assert marked_processes(replica.folder) == []


def test_a_runner_that_does_not_stop_in_time_is_killed(
    create: Start, look: Callable[[Replica], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_module, "DRAIN_MARGIN_SECONDS", 0.0)
    replica = create(SLEEP)
    os.kill(serve(replica), signal.SIGSTOP)
    replica.stop()
    assert not look(replica), "it still has time"
    until(lambda: look(replica))
    assert replica.observed()["state"] == "stopped"
    assert marked_processes(replica.folder) == []


def test_what_left_the_session_of_a_killed_runner_s_engine_ends_with_it(
    create: Start, look: Callable[[Replica], bool]
) -> None:
    replica = create(WITH_CHILD)
    runner = serve(replica)
    until(lambda: len(marked_processes(replica.folder)) == 2)
    os.kill(runner, signal.SIGKILL)
    until(lambda: look(replica))
    assert replica.observed()["failure"]["code"] == "EHN-RUNNER-KILLED"
    assert marked_processes(replica.folder) == []


def test_the_processes_of_another_agent_s_replica_of_that_name_are_left_alone(
    create: Start, tmp_path: Path
) -> None:
    replica = create(SLEEP)
    serve(replica)
    other = ReplicaFolder(path=tmp_path / "other" / replica.folder.path.name)
    assert kill_marked(other)
    assert len(marked_processes(replica.folder)) == 1

"""A replica as its agent sees it, over a real runner: it ends, and nothing of it stays."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.gates import Gates
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from workers.agent.folders import ReplicaFolder
from workers.agent.reaping import kill_marked, marked_processes
from workers.agent.replica import DRAIN_MARGIN_SECONDS, Replica
from workers.agent.settings import Settings, read_settings

pytestmark = [pytest.mark.process, pytest.mark.recovery]
STAY = "import signal; print('up', flush=True); signal.pause()"
WITH_CHILD = f"import subprocess, sys\nsubprocess.Popen(['setsid', 'sleep', '600'])\n{STAY}"
Start = Callable[[str], Replica]


@pytest.fixture
def gates() -> Iterator[Gates]:
    """Gates that runners pass."""
    with Gates() as outcome:
        yield outcome


@pytest.fixture
def settings(tmp_path: Path, gates: Gates) -> Settings:
    return read_settings(
        {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **gates.environment}
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(sleeping_moves_it=True)


@pytest.fixture
def create(settings: Settings, clock: ManualClock) -> Iterator[Start]:
    """Make a replica whose engine is the given Python program; its runner is not started."""
    created: list[Replica] = []

    def one(program: str) -> Replica:
        target = {"id": "bbbbb", "generation": 1, "runtime": "native"}
        replica = Replica.create(target, settings, clock=clock)
        argv = [sys.executable, "-c", program]
        launch = {"argv": argv, "environment": {}, "host": "127.0.0.1", "port": 1}
        replica.folder.write("launch", launch)
        created.append(replica)
        return replica

    yield one
    for replica in created:
        replica.kill()
        assert replica._spawned is not None
        replica._spawned.wait(DEADLINE_SECONDS)
        assert kill_marked(replica.folder, timeout_seconds=DEADLINE_SECONDS)


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
    wait_for(
        lambda: replica.folder.log.exists() and "up" in replica.folder.log.read_text(),
        what="the engine's first word",
    )
    runner = replica.folder.runner()
    assert runner is not None
    return runner.pid


def test_a_stop_that_no_signal_followed_is_carried_out_by_the_next_agent(
    create: Start, look: Callable[[Replica], bool], settings: Settings
) -> None:
    first = create(STAY)
    serve(first)
    (first.folder.path / "stop").touch()
    adopted = Replica(first.folder, settings)
    assert adopted.observed()["state"] == "draining"
    wait_for(lambda: look(adopted), what="the end of the replica")
    assert adopted.observed()["state"] == "stopped"
    assert marked_processes(first.folder) == []


@pytest.mark.parametrize("place", ["runner.begins", "runner.locked"])
def test_a_stop_before_the_runner_has_said_who_it_is_ends_the_replica(
    create: Start, look: Callable[[Replica], bool], gates: Gates, place: str
) -> None:
    gates.hold(place)
    replica = create(STAY)
    replica.start()
    gates.wait_for_arrival(place)
    replica.stop()
    assert look(replica) == (place == "runner.begins"), "one that holds its lock may go on"
    gates.let_go(place)
    wait_for(
        lambda: look(replica) and not replica.is_running(), what="the end of replica and runner"
    )
    assert replica.observed()["state"] == "stopped"
    assert marked_processes(replica.folder) == []


def test_a_runner_that_does_not_stop_in_time_is_killed(
    create: Start, look: Callable[[Replica], bool], settings: Settings, clock: ManualClock
) -> None:
    replica = create(STAY)
    runner = serve(replica)
    os.kill(runner, signal.SIGSTOP)
    replica.stop()
    for _ in range(round(settings.engine_drain_seconds + DRAIN_MARGIN_SECONDS)):
        clock.advance(1)
        assert not look(replica), "it still has time"
    assert replica.is_running()
    clock.advance(0.1)
    wait_for(lambda: look(replica), what="the end of the replica")
    assert replica.observed()["state"] == "stopped"
    assert marked_processes(replica.folder) == []


def test_what_left_the_session_of_a_killed_runner_s_engine_ends_with_it(
    create: Start, look: Callable[[Replica], bool]
) -> None:
    replica = create(WITH_CHILD)
    runner = serve(replica)
    wait_for(lambda: len(marked_processes(replica.folder)) == 2, what="the engine and its child")
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: look(replica), what="the end of the replica")
    assert replica.observed()["failure"]["code"] == "EHN-RUNNER-KILLED"
    assert marked_processes(replica.folder) == []


def test_the_processes_of_another_agent_s_replica_of_that_name_are_left_alone(
    create: Start, tmp_path: Path
) -> None:
    replica = create(STAY)
    serve(replica)
    other = ReplicaFolder(path=tmp_path / "other" / replica.folder.path.name)
    assert kill_marked(other)
    assert len(marked_processes(replica.folder)) == 1

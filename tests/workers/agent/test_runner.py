"""The runner: one engine, its locks, its log, its end, and nothing left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from controlplane.domain.wire.identity import Identity
from tests.gates import Gates
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from workers.agent import runner
from workers.agent.folders import ReplicaFolder, is_locked, replica_folder, try_lock
from workers.agent.identity import ProcessIdentity, boot_id, is_alive
from workers.agent.reaping import marked_processes, reap_orphans
from workers.runtimes.ports import ports_below_the_kernels

pytestmark = [pytest.mark.process, pytest.mark.recovery]
STAY = "import signal; print('up', flush=True); signal.pause()"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[ReplicaFolder, subprocess.Popen[bytes]]]]:
    """Start a runner whose engine is the given Python program."""
    started: list[tuple[ReplicaFolder, subprocess.Popen[bytes]]] = []

    def run(
        program: str,
        *,
        drain_seconds: float = 60,
        locks: Any = (),
        ports: Any = None,
        **environment: str,
    ) -> tuple[ReplicaFolder, subprocess.Popen[bytes]]:
        folder = replica_folder(tmp_path, "aaaaa", 1)
        folder.path.mkdir(exist_ok=True)
        run = {"locks": list(locks), "prepare": [], "drain_seconds": drain_seconds}
        folder.write(
            "run", {**run, "host": "127.0.0.1", "ports": ports or ports_below_the_kernels()}
        )
        folder.write("wanted", {"deployment_id": "deploy01"})
        argv = [sys.executable, "-c", program]
        launch = {"argv": argv, "environment": {}, "host": "127.0.0.1", "port": 1}
        folder.write("launch", launch)
        process = subprocess.Popen(
            [sys.executable, "-m", "workers.agent.runner", str(folder.path)],
            env={**os.environ, **environment},
            start_new_session=True,
        )
        started.append((folder, process))
        return folder, process

    yield run
    for folder, process in started:
        process.kill()
        process.wait()
        wait_for(lambda folder=folder: not marked_processes(folder), what=f"the end of {folder}")


def test_the_engine_s_end_is_recorded_with_its_exit_code_and_output(start: Any) -> None:
    folder, process = start("import sys; print('last words'); sys.exit(3)")
    assert process.wait(DEADLINE_SECONDS) == 0
    record = folder.read("exit")
    assert (record["phase"], record["exit_code"], record["requested"]) == ("engine", 3, False)
    assert "last words" in folder.log.read_text()


def test_an_engine_that_names_itself_keeps_the_marks_by_which_it_is_found(start: Any) -> None:
    folder, process = start("import os; print('SPT_NOENV', os.environ['SPT_NOENV'])")
    assert process.wait(DEADLINE_SECONDS) == 0
    assert "SPT_NOENV 1" in folder.log.read_text()


def test_sigterm_drains_the_engine(start: Any) -> None:
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('drained', flush=True), sys.exit(0)))\n"
        "print('up', flush=True)\nwhile True: signal.pause()"
    )
    folder, process = start(program)
    _wait_until_up(folder)
    process.terminate()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert folder.read("exit")["requested"] is True
    assert "drained" in folder.log.read_text()


def test_an_engine_that_will_not_drain_is_killed(start: Any) -> None:
    program = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {STAY}"
    folder, process = start(program, drain_seconds=0)
    _wait_until_up(folder)
    process.terminate()
    assert process.wait(DEADLINE_SECONDS) == 0
    assert folder.read("exit")["signal"] == "SIGKILL"


def test_gateways_may_ask_whose_an_engine_is_while_it_lives_and_is_wanted(start: Any) -> None:
    program = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {STAY}"
    folder, process = start(program)
    _wait_until_up(folder)
    port = wait_for(lambda: folder.read("engine"), what="the engine's record")["probe_port"]
    url = f"http://127.0.0.1:{port}/identity"
    identity = Identity(
        deployment_id="deploy01", replica_id="aaaaa", generation=1, boot_id=boot_id()
    )
    assert identity.is_in(httpx.get(url, timeout=DEADLINE_SECONDS).content)
    process.terminate()
    wait_for(lambda: not _answers(url), what="the end of the answers, long before the engine's")
    assert process.poll() is None
    os.kill(_engine(folder)["pid"], signal.SIGKILL)
    assert process.wait(DEADLINE_SECONDS) == 0


def test_an_engine_runs_all_the_same_where_no_port_is_left_to_ask_at(
    start: Any, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        folder, process = start("print('served')", ports=[port, port])
        assert process.wait(DEADLINE_SECONDS) == 0
    assert "probe_port" not in folder.read("engine")
    assert "Nobody can ask this runner" in folder.log.read_text()
    assert "served" in folder.log.read_text()


def test_a_killed_runner_takes_its_engine_with_it(start: Any) -> None:
    folder, process = start(STAY)
    engine = _engine(folder)["pid"]
    process.kill()
    process.wait()
    wait_for(
        lambda: not Path(f"/proc/{engine}").exists() or _is_zombie(engine), what="the engine's end"
    )
    assert folder.read("exit") is None


def test_nothing_below_the_engine_survives_it(start: Any) -> None:
    program = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {STAY!r}], start_new_session=True)\n"
        "print(child.pid, flush=True)"
    )
    folder, process = start(program)
    assert process.wait(DEADLINE_SECONDS) == 0
    assert marked_processes(folder) == []


def test_a_device_is_locked_as_long_as_its_runner_lives(start: Any, tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "GPU-1.lock"
    folder, process = start(STAY, locks=[str(lock)])
    _engine(folder)
    assert is_locked(lock)
    process.kill()
    process.wait()
    wait_for(lambda: not is_locked(lock), what="the GPU to be free")


def test_a_second_runner_of_one_replica_leaves_at_once(start: Any) -> None:
    folder, _ = start(STAY)
    engine = _engine(folder)
    second = subprocess.run(
        [sys.executable, "-m", "workers.agent.runner", str(folder.path)], timeout=DEADLINE_SECONDS
    )
    assert second.returncode == 0
    assert folder.read("engine") == engine
    assert folder.read("exit") is None


def test_a_runner_waits_for_an_agent_that_holds_its_lock_to_look(
    start: Any, tmp_path: Path
) -> None:
    looking = try_lock(replica_folder(tmp_path, "aaaaa", 1).runner_lock)
    assert looking is not None
    with Gates() as gates:
        folder, process = start(STAY, **gates.environment)
        gates.wait_for_arrival("runner.waits", after=1)
        os.close(looking)
        assert gates.wait_for_arrival("runner.locked") == process.pid
    _engine(folder)


def test_a_runner_that_is_kept_from_its_lock_leaves_in_the_end(tmp_path: Path) -> None:
    folder = replica_folder(tmp_path, "aaaaa", 1)
    looking, clock = try_lock(folder.runner_lock), ManualClock(sleeping_moves_it=True)
    assert looking is not None
    assert runner._lock_of(folder, clock=clock) is None
    assert sum(clock.slept) == pytest.approx(runner.LOOK_SECONDS, abs=0.1)
    os.close(looking)


def test_a_device_that_stays_locked_is_named_after_a_while(tmp_path: Path) -> None:
    free, taken = tmp_path / "GPU-1.lock", tmp_path / "GPU-2.lock"
    other, clock = try_lock(taken), ManualClock(sleeping_moves_it=True)
    assert other is not None
    stop = SimpleNamespace(is_requested=False)
    assert runner._take_locks([str(free), str(taken)], stop, clock=clock) == str(taken)
    assert sum(clock.slept) == pytest.approx(runner.LOCK_WAIT_SECONDS, abs=0.2)
    os.close(other)
    assert runner._take_locks([str(taken)], stop, clock=clock) is None


def test_the_record_names_the_very_process(start: Any) -> None:
    folder, process = start(STAY)
    named = wait_for(folder.runner, what="the runner's record")
    assert named is not None
    assert named.pid == process.pid
    assert is_alive(named)
    other = ProcessIdentity(boot_id=named.boot_id, pid=named.pid, start_ticks=1)
    assert not is_alive(other)


def test_an_orphan_is_found_by_its_marker_and_killed(tmp_path: Path) -> None:
    folder = replica_folder(tmp_path, "orphn", 1)
    orphan = subprocess.Popen(
        [sys.executable, "-c", STAY],
        env={
            **os.environ,
            "ENGINEHOUSE_LEASE": folder.marker,
            "ENGINEHOUSE_INSTANCE": folder.instance,
        },
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: marked_processes(folder), what="the orphan's marks")
        here = folder.instance
        assert reap_orphans(lambda marker: False, instance=f"{here}/other") == []
        assert reap_orphans(lambda marker: True, instance=here) == []
        assert reap_orphans(lambda marker: False, instance=here) == [folder.marker]
        assert orphan.wait(DEADLINE_SECONDS) == -signal.SIGKILL
    finally:
        orphan.kill()
        orphan.wait()


def _wait_until_up(folder: ReplicaFolder) -> None:
    wait_for(
        lambda: folder.log.exists() and "up" in folder.log.read_text(),
        what="the engine's first word",
    )


def _engine(folder: ReplicaFolder) -> dict[str, Any]:
    """Return the record of the engine, once the runner has started it."""
    return wait_for(lambda: folder.read("engine") or {}, what="the engine's record")


def _is_zombie(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=DEADLINE_SECONDS).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def test_files_of_a_replica_are_for_its_owner_only(tmp_path: Path) -> None:
    folder = replica_folder(tmp_path, "aaaaa", 1)
    folder.path.mkdir()
    folder.write("wanted", {"spec": {}})
    assert (folder.path / "wanted.json").stat().st_mode & 0o077 == 0
    assert json.loads((folder.path / "wanted.json").read_text()) == {"spec": {}}

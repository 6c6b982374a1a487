"""The runner: parent of one engine, from its preparation to its exit record.

`python -m workers.agent.runner FOLDER [--store-fd PIPE]`, in a session of its own: it outlives the
agent, holds the locks of its GPUs, and its engine dies with it. What it reads from the pipe opens
the artifact store: it goes to what copies the artifact here, and to no other child.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.identity import Identity
from workers.agent.capped_log import CappedLog
from workers.agent.children import Child, StopRequest, become_subreaper, kill_descendants
from workers.agent.folders import (
    INSTANCE_VARIABLE,
    KEEPS_ITS_MARKS,
    LEASE_VARIABLE,
    ReplicaFolder,
    try_lock,
)
from workers.agent.identity import boot_id, identity_of
from workers.agent.identity_server import IdentityServer
from workers.agent.reaping import kill_marked
from workers.filled_pipe import filled_pipe, read_pipe, store_descriptor
from workers.gates import pass_gate
from workers.runtimes.ports import NoFreePort, PortRange

PREPARE_DRAIN_SECONDS = 2.0
LOCK_WAIT_SECONDS = 15.0
LOOK_SECONDS = 10.0
REMOVE_SECONDS = 30.0


def main() -> int:
    """Run the replica of the folder; 0 unless the folder is wrong."""
    folder = ReplicaFolder(path=Path(sys.argv[1]).absolute())
    login = read_pipe(store_descriptor(sys.argv))
    pass_gate("runner.begins")
    lock = _lock_of(folder)
    if lock is None or folder.read("exit") is not None:
        return 0
    run = folder.read("run")
    identity = identity_of(os.getpid())
    if run is None or identity is None:
        return 1
    stop = StopRequest()
    become_subreaper()
    folder.write("runner", identity.to_json())
    folder.write("exit", _run(folder, run, stop, login))
    return 0


def _lock_of(folder: ReplicaFolder, *, clock: Clock = SYSTEM) -> int | None:
    """Return the lock that makes this the only runner; None where there is another."""
    deadline = clock.monotonic() + LOOK_SECONDS
    # An agent that looks whether a runner lives holds the lock for a moment itself: only a runner
    # says who it is.
    while (lock := try_lock(folder.runner_lock)) is None:
        if folder.runner() is not None or clock.monotonic() > deadline:
            return None
        pass_gate("runner.waits")
        clock.sleep(0.02)
    pass_gate("runner.locked")
    return lock


def _run(
    folder: ReplicaFolder,
    run: Mapping[str, Any],
    stop: StopRequest,
    login: Mapping[str, str],
    *,
    clock: Clock = SYSTEM,
) -> dict[str, Any]:
    """Return the exit record.

    1. Take the locks of the GPUs.
    2. Prepare: copy the artifact, render the command.
    3. Run the engine until it ends or is stopped.
    4. Leave nothing behind.
    """
    log = CappedLog(folder.log)
    busy = _take_locks(run["locks"], stop, clock=clock)
    if busy:
        return _record("lock", stop, None, detail=busy)
    if folder.read("launch") is None:
        code = _prepared(folder, run, stop, login, log, clock)
        kill_descendants(clock=clock)
        if code != 0 or stop.is_requested:
            return _record("prepare", stop, code)
    launch = folder.read("launch")
    if launch is None:
        return _record("prepare", stop, None)
    return _run_engine(folder, run, launch, stop, log, clock)


def _prepared(
    folder: ReplicaFolder,
    run: Mapping[str, Any],
    stop: StopRequest,
    login: Mapping[str, str],
    log: CappedLog,
    clock: Clock,
) -> int:
    pipe = filled_pipe(login)
    try:
        child = Child(
            [*run["prepare"], "--store-fd", str(pipe)],
            environment=_environment(folder, {}),
            folder=folder.path,
            log=log,
            pass_fds=[pipe],
            clock=clock,
        )
    finally:
        os.close(pipe)
    return child.watch(stop, drain_seconds=PREPARE_DRAIN_SECONDS)


def _run_engine(
    folder: ReplicaFolder,
    run: Mapping[str, Any],
    launch: Mapping[str, Any],
    stop: StopRequest,
    log: CappedLog,
    clock: Clock,
) -> dict[str, Any]:
    try:
        engine = Child(
            launch["argv"],
            environment=_environment(folder, launch["environment"]),
            folder=folder.path,
            log=log,
            clock=clock,
        )
    except OSError as error:
        return _record("engine", stop, None, detail=f"`{launch['argv'][0]}`: {error.strerror}")
    teller = _identity_server(folder, run, log)
    probe = {"probe_port": teller.port} if teller else {}
    place = {"host": launch["host"], "port": launch["port"]}
    folder.write("engine", {"pid": engine.pid, **place, **probe})
    code = engine.watch(stop, drain_seconds=float(run["drain_seconds"]), beside=teller)
    engine.kill()
    kill_descendants(clock=clock)
    if "remove" in launch:
        _remove_container(folder, launch["remove"], log)
    return _record("engine", stop, code)


def _identity_server(
    folder: ReplicaFolder, run: Mapping[str, Any], log: CappedLog
) -> IdentityServer | None:
    """Return what tells gateways that the engine lives; None where no port of the node is free."""
    identity = Identity(
        deployment_id=str((folder.read("wanted") or {}).get("deployment_id", "")),
        replica_id=folder.replica_id,
        generation=folder.generation,
        boot_id=boot_id(),
    )
    try:
        return IdentityServer(identity, str(run["host"]), PortRange(*run["ports"]))
    except NoFreePort as error:
        log.write(f"Nobody can ask this runner whether its engine lives: {error}\n".encode())
        return None


def _remove_container(folder: ReplicaFolder, command: list[str], log: CappedLog) -> None:
    """Leave no container: it ended with its process, unless that was killed or Docker is away."""
    try:
        done = subprocess.run(
            command,
            env=_environment(folder, {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=REMOVE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        log.write(b"Docker took too long to remove the container.\n")
    else:
        log.write(done.stdout)
    # What Docker did not end is ended here, as far as its processes can be seen.
    kill_marked(folder)


def _take_locks(paths: list[str], stop: StopRequest, *, clock: Clock = SYSTEM) -> str | None:
    """Take each lock and keep it to the end of the process; the path that stayed busy, if any."""
    deadline = clock.monotonic() + LOCK_WAIT_SECONDS
    for path in paths:
        # Its descriptor is never closed: the lock is let go when this process ends, however.
        while try_lock(Path(path)) is None:
            if stop.is_requested or clock.monotonic() > deadline:
                return path
            clock.sleep(0.1)
    return None


def _environment(folder: ReplicaFolder, more: Mapping[str, str]) -> dict[str, str]:
    # The agent gave this process an allow-listed environment already.
    marks = {LEASE_VARIABLE: folder.marker, INSTANCE_VARIABLE: folder.instance}
    return {**os.environ, **more, **marks, **KEEPS_ITS_MARKS}


def _record(
    phase: str, stop: StopRequest, code: int | None, *, detail: str | None = None
) -> dict[str, Any]:
    killed_by = signal.Signals(-code).name if code is not None and code < 0 else None
    return {
        "phase": phase,
        "requested": stop.is_requested,
        "exit_code": code,
        "signal": killed_by,
        "detail": detail,
        "finished_at": SYSTEM.time(),
    }


if __name__ == "__main__":
    sys.exit(main())

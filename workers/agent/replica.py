"""One replica as its agent sees it: a folder, the runner behind it, and what the engine says."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import ReplicaState
from workers.agent.containers import Removal
from workers.agent.folders import ReplicaFolder, is_locked, replica_folder, try_lock
from workers.agent.identity import ProcessIdentity, is_alive, send_signal
from workers.agent.patience import LookedTime, Progress, somebody_stopped_it
from workers.agent.probes import Probe
from workers.agent.reaping import kill_marked
from workers.agent.replica_end import ended, loss
from workers.agent.run_record import run_record
from workers.agent.settings import Settings
from workers.filled_pipe import filled_pipe
from workers.full_disk import says_full

SPAWN_SECONDS = 20.0
SILENT_LIMIT_SECONDS = 60.0
DRAIN_MARGIN_SECONDS = 10.0
_START_BYTES = 1024 * 1024
_log = logging.getLogger(__name__)


class Replica:
    """A replica of this host; all of it that must survive the agent lies in its folder."""

    def __init__(self, folder: ReplicaFolder, settings: Settings, *, clock: Clock = SYSTEM) -> None:
        self.folder = folder
        self.wanted: dict[str, Any] = folder.read("wanted") or {}
        self._settings = settings
        self._clock = clock
        self._probe: Probe | None = None
        self._time = LookedTime(clock=clock)
        self._progress: Progress | None = None
        self._since = self._time.seconds
        self._spawned: subprocess.Popen[bytes] | None = None
        self._containers = Removal(folder, settings.passed_on, clock=clock)
        self._is_stopping = (folder.path / "stop").exists()
        self._stopping_since = self._since

    @classmethod
    def create(
        cls, desired: Mapping[str, Any], settings: Settings, *, clock: Clock = SYSTEM
    ) -> "Replica":
        """Return a new replica, its folder written, its runner not yet started."""
        folder = replica_folder(settings.replicas, str(desired["id"]), int(desired["generation"]))
        with suppress(OSError):  # of a full disk, which its start tells
            folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.keep("wanted", desired)
        return cls(folder, settings, clock=clock)

    @property
    def key(self) -> tuple[str, int]:
        return self.folder.replica_id, self.folder.generation

    @property
    def is_over(self) -> bool:
        return self.folder.read("exit") is not None

    def is_running(self) -> bool:
        runner = self._runner()
        if runner is not None:
            return is_alive(runner)
        # A runner takes this lock before it writes who it is.
        return is_locked(self.folder.runner_lock)

    def start(self) -> None:
        """Start the runner, in a session that outlives this agent; a full disk fails it."""
        try:
            self._start_runner()
        except OSError as error:
            if not says_full(error):
                raise
            self._end_with(serving.DISK_FULL.failure(folder=str(self._settings.home)))

    def _start_runner(self) -> None:
        self.folder.write("wanted", self.wanted)
        self.folder.write("run", run_record(self.folder, self.wanted, self._settings))
        # Filled before anybody reads it: a runner needs no agent that lives on.
        login = filled_pipe(self._settings.store_variables)
        try:
            self._spawned = self._spawn(login)
        finally:
            os.close(login)
        _log.info("replica %s.%s: runner %s started", *self.key, self._spawned.pid)

    def _spawn(self, login: int) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", "workers.agent.runner", str(self.folder.path)]
        with (self.folder.path / "runner.log").open("ab") as output:
            return subprocess.Popen(
                [*argv, "--store-fd", str(login)],
                env=dict(self._settings.passed_on),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[login],
                start_new_session=True,
            )

    def stop(self) -> None:
        """Ask the runner to drain and end; a repeat changes nothing."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._stopping_since = self._time.seconds
        with suppress(OSError):  # asked for again with every report
            (self.folder.path / "stop").touch()
        self._ask_to_stop()
        self._settle_without_runner()

    def kill(self) -> None:
        """End the runner at once; its engine dies with it."""
        runner = self._runner()
        if runner is not None:
            send_signal(runner, signal.SIGKILL)

    def is_cleared(self) -> bool:
        """Kill what is left without its runner, process or container; whether that was all."""
        return kill_marked(self.folder, clock=self._clock) and self._containers.is_done()

    def look(self, pool: Executor) -> None:
        """Bring this view up to date: collect the dead, ask the living."""
        self._time.look()
        self.folder.keep_rest()
        if self._spawned is not None:
            self._spawned.poll()
        if self.is_over:
            return
        if not self.is_running():
            self._settle_without_runner()
            return
        if self._is_stopping:
            # Again with every look: the runner may not have been there when it was asked first.
            self._ask_to_stop()
            self._end_if_stuck()
        engine = self.folder.read("engine")
        if engine is None:
            return
        if self._probe is None:
            runtime = str(self.wanted.get("runtime"))
            self._probe = Probe(
                str(engine["host"]),
                int(engine["port"]),
                runtime,
                log=self._start_of_log,
                clock=self._clock,
            )
        self._probe.look(pool)
        self._end_if_hung(self._probe)

    def observed(self) -> dict[str, Any]:
        engine = self.folder.read("engine") or {}
        state, failure = self._state()
        return {
            "id": self.folder.replica_id,
            "generation": self.folder.generation,
            "state": state.value,
            "host": str(engine.get("host", "")),
            "port": engine.get("port"),
            "probe_port": engine.get("probe_port"),
            "pid": engine.get("pid"),
            "failure": failure.to_json() if failure else None,
            "report": self._probe.report if self._probe else None,
            "metrics": self._probe.metrics if self._probe else None,
            "log_path": str(self.folder.log),
        }

    def _state(self) -> tuple[ReplicaState, Failure | None]:
        record = self.folder.read("exit")
        if record is not None:
            return ended(self.folder, record, self.wanted)
        if self._is_stopping:
            return ReplicaState.DRAINING, None
        if self._probe is None:
            return ReplicaState.STARTING, None
        return (ReplicaState.READY if self._probe.is_ready else ReplicaState.LOADING), None

    def _start_of_log(self) -> str:
        with self.folder.log.open("rb") as log:
            return log.read(_START_BYTES).decode(errors="replace")

    def _ask_to_stop(self) -> None:
        runner = self._runner()
        if runner is not None:
            send_signal(runner, signal.SIGTERM)

    def _settle_without_runner(self) -> None:
        """Write the exit record that a runner which is gone could not write."""
        # Under the lock of runners: one that comes late finds the record, and leaves.
        lock = self._runner_lock()
        if lock is None:
            return
        try:
            if not self.is_over:
                self._write_exit()
        finally:
            os.close(lock)

    def _runner_lock(self) -> int | None:
        try:
            return try_lock(self.folder.runner_lock)
        except OSError as error:
            if not says_full(error):
                raise
            return None

    def _write_exit(self) -> None:
        runner = self._runner()
        waited = self._time.seconds - self._since
        if runner is None and not self._is_stopping and waited < SPAWN_SECONDS:
            return  # it has been started and has not said who it is
        if not self.is_cleared():
            return  # it has not ended while something of it is left
        self._end_with(None if self._is_stopping else loss(self.folder, runner, self._settings))

    def _end_with(self, failure: Failure | None) -> None:
        self.folder.keep(
            "exit",
            {
                "phase": "runner",
                "requested": self._is_stopping,
                "exit_code": None,
                "signal": None,
                "detail": None,
                "failure": failure.to_json() if failure else None,
                "finished_at": self._clock.time(),
            },
        )

    def _end_if_stuck(self) -> None:
        run = self.folder.read("run") or {}
        drain_seconds = float(run.get("drain_seconds", self._settings.engine_drain_seconds))
        stopping_for = self._time.seconds - self._stopping_since
        if stopping_for > drain_seconds + DRAIN_MARGIN_SECONDS:
            _log.warning("replica %s.%s: killed, it did not stop in time", *self.key)
            self.kill()

    def _end_if_hung(self, probe: Probe) -> None:
        if self._is_stopping:
            return
        failure = None
        if not probe.is_ready:
            failure = self._stuck_while_loading()
        elif probe.silent_seconds > SILENT_LIMIT_SECONDS:
            failure = self._silent(probe)
        if failure is not None:
            self.folder.keep("failure", failure.to_json())
            self.kill()

    def _silent(self, probe: Probe) -> Failure | None:
        if somebody_stopped_it(self.folder):
            probe.excuse()
            return None
        return serving.NO_ANSWER.failure(seconds=SILENT_LIMIT_SECONDS)

    def _stuck_while_loading(self) -> Failure | None:
        if self._progress is None:
            self._progress = Progress(self.folder, self._time)
        self._progress.look()
        limit_seconds = self._settings.engine_start_seconds
        is_stuck = self._progress.still_seconds > limit_seconds
        return serving.NEVER_READY.failure(seconds=limit_seconds) if is_stuck else None

    def _runner(self) -> ProcessIdentity | None:
        return self.folder.runner()

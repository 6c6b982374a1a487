"""Containers of replicas whose runner is gone: removed beside the agent's loop, which never waits.

The runner removes its engine's container itself, and the container ends with it when it is killed;
here the rest is cleared away, and nothing counts as ended before that is done.
"""

import subprocess
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from workers.agent.folders import ReplicaFolder, is_locked, replica_folder
from workers.runtimes.container.leftovers import sweep_containers, uses_containers

_PAUSE_SECONDS = 5.0
"""Before Docker is asked again where it did not answer."""


class Removal:
    """Proof that nothing of one replica runs in a container any more."""

    def __init__(
        self, folder: ReplicaFolder, passed_on: Mapping[str, str], *, clock: Clock = SYSTEM
    ) -> None:
        self._clock = clock
        self._folder = folder
        self._passed_on = passed_on
        self._process: subprocess.Popen[bytes] | None = None
        self._is_done = False
        self._not_before = 0.0

    def is_done(self) -> bool:
        """Return whether none is left; begins to remove what is there, and asks again if need be.

        To be asked once no process of the replica is left that could start another one.
        """
        command = (self._folder.read("launch") or {}).get("remove")
        if self._is_done or not command:
            return True
        if self._process is None and self._clock.monotonic() >= self._not_before:
            self._process = self._begin(command)
        status = self._process.poll() if self._process is not None else None
        if status is not None:
            self._process, self._is_done = None, status == 0
            self._not_before = self._clock.monotonic() + _PAUSE_SECONDS
        return self._is_done

    def _begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self._folder.path / "runner.log").open("ab") as output:
            return subprocess.Popen(
                command,
                env=dict(self._passed_on),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )


class ContainerSweep:
    """Looks for containers that no runner stands behind, one look at a time."""

    def __init__(self, replicas: Path, passed_on: Mapping[str, str]) -> None:
        self._replicas = replicas
        self._passed_on = passed_on
        self._running: Future[None] | None = None

    def begin(self, pool: Executor) -> None:
        """Look once in the background, where this host starts engines from images."""
        is_busy = self._running is not None and not self._running.done()
        if uses_containers(self._passed_on) and not is_busy:
            self._running = pool.submit(
                sweep_containers,
                self._has_runner,
                instance=str(self._replicas.resolve()),
                environment=self._passed_on,
            )

    def _has_runner(self, marker: str) -> bool:
        """Return whether a runner holds its lock, which the system lets go when it ends."""
        try:
            _, replica_id, generation = marker.split("/")
            folder = replica_folder(self._replicas, replica_id, int(generation))
        except ValueError:
            return True  # no lease of ours: it is not for us to say
        return is_locked(folder.runner_lock)

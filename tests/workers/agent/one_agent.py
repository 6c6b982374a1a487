"""An agent in this process: the test moves its clock, wants things of it and hears its reports."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from workers.agent import replica
from workers.agent.control_plane import ControlPlaneAway, NodeRemoved
from workers.agent.folders import ReplicaFolder, replica_folder, try_lock
from workers.agent.hints import Hints
from workers.agent.identity import ProcessIdentity, identity_of, is_alive, send_signal
from workers.agent.settings import Settings, read_settings
from workers.agent.supervision import Agent

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
Script = Mapping[float, Callable[[], object]]


class ListeningControlPlane:
    """Keeps what it is told, and answers what it is given to want."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock, self._began_at = clock, clock.monotonic()
        self.is_away = False
        self.has_removed_it = self.has_left = False
        self.wanted: list[Mapping[str, Any]] = []
        self.asked_at: list[float] = []
        self.told: list[Mapping[str, Any]] = []
        self.log = ""

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        self.asked_at.append(self._clock.monotonic() - self._began_at)
        self._refuse_while_away()
        if self.has_removed_it:
            raise NodeRemoved("Node `host-1` was removed.")
        self.told.append(observation)
        return {"replicas": list(self.wanted)}

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        self._refuse_while_away()
        self.log += text

    def leave(self) -> None:
        self.has_left = True

    def states(self) -> list[str]:
        """Return how the one replica stood in each report."""
        return [each["state"] for report in self.told for each in report["replicas"]]

    def _refuse_while_away(self) -> None:
        if self.is_away:
            raise ControlPlaneAway("nobody there")


class ScriptedHints(Hints):
    """To wait is to move the clock; at some seconds something happens, and then the agent stops."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__("", "host-1", clock=clock)
        self._clock_to_move, self._began_at = clock, clock.monotonic()
        self.script: dict[float, Callable[[], object]] = {}
        self.waited: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self._clock_to_move.advance(seconds)
        now = self._clock_to_move.monotonic() - self._began_at
        for due in sorted(at for at in self.script if at <= now):
            self.script.pop(due)()
        return super().wait(0)


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        done: Future[_Result] = Future()
        try:
            done.set_result(work(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


class OneAgent:
    """The agent with all that is around it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(sleeping_moves_it=True)
        self.settings: Settings = read_settings({"DATA_DIR": str(folder), "NODE_NAME": "host-1"})
        self.settings.home.mkdir(parents=True)
        self.plane = ListeningControlPlane(self.clock)
        self.hints = ScriptedHints(self.clock)
        self.agent = Agent(self.settings, self.plane, self.hints, clock=self.clock)

    def run(self, seconds: float, script: Script | None = None) -> None:
        """Let it work for so long, once, with this happening meanwhile."""
        self.hints.script = {**(script or {}), seconds: self.agent.stop}
        self.agent.run()

    def leave_behind(self, replica_id: str, **wanted: Any) -> ReplicaFolder:
        """Return the folder of a replica that an agent before this one had."""
        folder = replica_folder(self.settings.replicas, replica_id, 1)
        folder.path.mkdir(parents=True)
        order = {"id": replica_id, "generation": 1, "runtime": "native", "wanted": "running"}
        folder.write("wanted", {**order, **wanted})
        self.plane.wanted.append({**order, **wanted})
        return folder


@contextmanager
def runner_of(folder: ReplicaFolder, *, is_stuck: bool = False) -> Iterator[None]:
    """Let a process be the replica's runner: it ends when it is asked to, unless it is stuck.

    What ends it has done so before the agent's clock goes on.
    """
    ignore = partial(signal.signal, signal.SIGTERM, signal.SIG_IGN)
    lock = try_lock(folder.runner_lock)
    assert lock is not None
    with subprocess.Popen(
        ["sleep", "600"], pass_fds=[lock], preexec_fn=ignore if is_stuck else None
    ) as process:
        os.close(lock)  # from here on the process alone holds it
        try:
            identity = identity_of(process.pid)
            assert identity is not None
            folder.write("runner", identity.to_json())
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(replica, "send_signal", partial(_send, is_stuck=is_stuck))
                yield
        finally:
            process.kill()


def _send(identity: ProcessIdentity, number: signal.Signals, *, is_stuck: bool) -> bool:
    is_sent = send_signal(identity, number)
    if number == signal.SIGKILL or not is_stuck:
        wait_for(lambda: not is_alive(identity), what=f"the end of runner {identity.pid}")
    return is_sent

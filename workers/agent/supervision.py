"""The agent's loop: look at what runs, tell the control plane, do what it wants, again."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.gpus import CPU, IDLE_BYTES
from workers.agent import inventory
from workers.agent.containers import ContainerSweep
from workers.agent.control_plane import ControlPlane, ControlPlaneAway, NodeRemoved
from workers.agent.folders import replica_folders, write_json
from workers.agent.hints import Hints
from workers.agent.identity import boot_id
from workers.agent.log_turns import LogTurns
from workers.agent.models import prune_models
from workers.agent.reaping import reap_orphans
from workers.agent.replica import Replica
from workers.agent.settings import Settings
from workers.full_disk import free_bytes
from workers.runtimes.named import named_runtimes

FORMAT = 1
STEP_SECONDS = 1.0
QUICK_STEP_SECONDS = 0.25
REPORT_SECONDS = 3.0
REAP_SECONDS = 5.0
KILL_SECONDS = 3.0
LONGEST_BACK_OFF_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Agent:
    """Works toward the wanted state; whatever else is away, what serves goes on serving."""

    def __init__(
        self,
        settings: Settings,
        control_plane: ControlPlane,
        hints: Hints,
        *,
        came_on: Callable[[], object] = lambda: None,
        clock: Clock = SYSTEM,
    ) -> None:
        """`came_on` is called whenever a part of the work is done: its watchdog listens."""
        self._settings = settings
        self._came_on = came_on
        self._control_plane = control_plane
        self._hints = hints
        self._clock = clock
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="probe")
        self._containers = ContainerSweep(settings.replicas, settings.passed_on)
        self._replicas: dict[tuple[str, int], Replica] = {}
        self._last_state = ""
        self._report_at = self._reap_at = 0.0
        self._back_off_seconds = 0.0
        self._is_stopping = False
        self._disk_is_full = False
        self._logs = LogTurns(control_plane, came_on, clock=clock)

    def run(self) -> None:
        """Adopt what runs, then work until `stop`."""
        for folder in (self._settings.replicas, self._settings.models, self._settings.locks):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._adopt()
        while not self._is_stopping:
            self._came_on()
            self.step()
            if self._hints.wait(self._pause()):
                self._report_at = 0.0

    def stop(self) -> None:
        """Leave the loop; engines go on."""
        self._is_stopping = True
        self._hints.stop()

    def stop_engines(self) -> None:
        deadline = self._clock.monotonic() + self._settings.engine_drain_seconds + 5
        for replica in self._replicas.values():
            replica.stop()
        while any(not each.is_over for each in self._replicas.values()):
            self._came_on()
            late = self._clock.monotonic() - deadline
            if late > KILL_SECONDS:
                break
            if late > 0:
                self._kill_rest()
            self._clock.sleep(0.1)
            self._look()
        self._look()
        self._report()

    def step(self) -> None:
        """Look, report, apply, ship logs, reap: once."""
        self._look()
        self._reap()
        now = self._clock.monotonic()
        observation = self._observation()
        state_json = json.dumps(
            [
                *map(_without_measurements, observation["replicas"]),
                *map(_use, observation["devices"]),
            ]
        )
        if now >= self._report_at or (
            state_json != self._last_state and not self._back_off_seconds
        ):
            self._last_state = state_json
            self._report(observation)
        if not self._back_off_seconds:
            self._logs.ship([(each.folder, each.is_over) for each in self._replicas.values()])

    def _look(self) -> None:
        for replica in self._replicas.values():
            replica.look(self._pool)
            self._came_on()

    def _adopt(self) -> None:
        for folder in replica_folders(self._settings.replicas):
            replica = Replica(folder, self._settings, clock=self._clock)
            self._replicas[replica.key] = replica
            if replica.is_running():
                _log.info("replica %s.%s: adopted", *replica.key)

    def _reap(self) -> None:
        now = self._clock.monotonic()
        if now < self._reap_at:
            return
        self._reap_at = now + REAP_SECONDS
        instance = str(self._settings.replicas.resolve())
        for marker in reap_orphans(self._is_live, instance=instance):
            _log.warning("killed a process of %s, whose runner is gone", marker)
        self._containers.begin(self._pool)
        in_use = {str(each.wanted.get("content_digest")) for each in self._replicas.values()}
        for name in prune_models(
            self._settings.models,
            in_use,
            most_bytes=self._settings.copies_bytes,
            clock=self._clock,
        ):
            _log.info("dropped the copy of artifact %s, which nothing used", name)
            self._came_on()

    def _is_live(self, marker: str) -> bool:
        return any(
            each.folder.marker == marker and each.is_running() for each in self._replicas.values()
        )

    def _observation(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "boot_id": boot_id(),
            "sent_at": self._clock.time(),
            "disk_free_bytes": free_bytes(self._settings.home),
            "devices": inventory.devices(self._settings.node_name),
            "runtimes": sorted(named_runtimes(self._settings.passed_on)),
            "replicas": [replica.observed() for replica in self._replicas.values()],
        }

    def _report(self, observation: dict[str, Any] | None = None) -> None:
        observation = observation or self._observation()
        try:
            answer = self._control_plane.observe(observation)
        except NodeRemoved as removed:
            self._end_all(removed)
            return
        except ControlPlaneAway as error:
            if not self._back_off_seconds:
                _log.warning("the control plane is away, engines go on: %s", error)
            doubled = max(0.5, self._back_off_seconds * 2)
            self._back_off_seconds = min(LONGEST_BACK_OFF_SECONDS, doubled)
            self._report_at = self._clock.monotonic() + self._back_off_seconds
            return
        if self._back_off_seconds:
            _log.info("the control plane is back")
        self._back_off_seconds = 0.0
        self._report_at = self._clock.monotonic() + REPORT_SECONDS
        self._keep_wanted(answer)
        if not self._is_stopping:
            self._apply(answer["replicas"], observation["replicas"])

    def _keep_wanted(self, answer: Mapping[str, Any]) -> None:
        """Leave what is wanted for whoever looks; a full disk ends nothing, and is told once."""
        try:
            write_json(self._settings.home / "wanted.json", answer)
        except OSError as error:
            if not self._disk_is_full:
                _log.error("%s takes nothing, engines go on: %s", self._settings.home, error)
            self._disk_is_full = True
        else:
            if self._disk_is_full:
                _log.info("%s has room again", self._settings.home)
            self._disk_is_full = False

    def _end_all(self, removed: NodeRemoved) -> None:
        """End what runs, of which nobody wants to hear; then this host is no node any more."""
        _log.warning("%s Its engines are ended.", removed)
        self._report_at = self._clock.monotonic() + REPORT_SECONDS
        for key, replica in list(self._replicas.items()):
            self._let_go(key, replica, is_known_to_have_ended=True)
        if not self._replicas:
            self._control_plane.leave()
            _log.warning("to bring it back, start this agent with a new ENROLLMENT_TOKEN")

    def _apply(
        self, desired: Sequence[Mapping[str, Any]], reported: Sequence[Mapping[str, Any]]
    ) -> None:
        listed = {(str(each["id"]), int(each["generation"])): each for each in desired}
        ended = {
            (each["id"], each["generation"])
            for each in reported
            if each["state"] in {"stopped", "failed"}
        }
        for key, replica in list(self._replicas.items()):
            if key not in listed:
                self._let_go(key, replica, is_known_to_have_ended=key in ended)
            elif listed[key]["wanted"] == "stopped":
                replica.stop()
        for key, each in listed.items():
            if key not in self._replicas and each["wanted"] == "running":
                self._start(key, each)

    def _start(self, key: tuple[str, int], desired: Mapping[str, Any]) -> None:
        # An older generation of the same replica ends first: both would want the same GPUs.
        if any(replica_id == key[0] for replica_id, _ in self._replicas):
            return
        replica = Replica.create(desired, self._settings, clock=self._clock)
        self._replicas[key] = replica
        replica.start()
        self._came_on()

    def _let_go(
        self, key: tuple[str, int], replica: Replica, *, is_known_to_have_ended: bool
    ) -> None:
        """End what nobody wants; forget it once its end has been told, or need not be."""
        if not replica.is_over:
            replica.stop()
            return
        if is_known_to_have_ended and replica.is_cleared():
            self._report_at = 0.0
            if not self._logs.has_shipped_rest(replica.folder):
                return
            replica.folder.remove()
            del self._replicas[key]

    def _kill_rest(self) -> None:
        for replica in self._replicas.values():
            if not replica.is_over:
                replica.kill()

    def _pause(self) -> float:
        is_moving = any(
            each.observed()["state"] in {"starting", "loading", "draining"}
            for each in self._replicas.values()
        )
        return QUICK_STEP_SECONDS if is_moving else STEP_SECONDS


def _use(device: Mapping[str, Any]) -> list[Any]:
    """Return what of the use of a GPU is worth a report of its own: who comes and who goes."""
    pids = sorted(each["pid"] for each in device.get("used_by", ()))
    is_held = device["kind"] != CPU and device["used_bytes"] > IDLE_BYTES
    return [device["uuid"], device["clean"], is_held, pids]


def _without_measurements(observed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in observed.items() if key != "metrics"}

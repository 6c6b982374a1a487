"""What people do to a model that serves: each change is awaited before the next begins."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import httpx

from benchmarks.recovery_parts.traffic import Traffic
from tests.e2e.installation import Installation

_PLACE = "environments/production"
_SETTINGS = {"autoscaling_window": 10, "scale_down_delay": 0}
_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 600.0
_ENDED = {None, "SUCCEEDED", "CANCELED", "FAILED"}
"""What a promotion says that is over; nothing before the first."""


class Changes:
    """Promotes, rolls back, pauses, cancels, scales, kills an engine and changes settings."""

    def __init__(
        self, here: Installation, model_id: str, traffic: Traffic, *, most_replicas: int
    ) -> None:
        self._here, self._path, self._traffic = here, f"models/{model_id}", traffic
        self.at_a_kill: set[int] = set()
        """Questions that were on their way when an engine was killed, with it or another."""
        self._most_replicas = most_replicas
        self.done: Counter[str] = Counter()
        self._begun: list[tuple[float, str]] = []
        self._first = self._serving()
        build = here.get(f"{self._path}/deployments/{self._first}")["build_id"]
        made = here.post(
            f"{self._path}/deployments", {"source": {"kind": "build", "build_id": build}}
        )
        self._second = made["id"]

    def go_on(self, ending: threading.Event) -> None:
        """Make one change after another, in turns, until it is to end; the last one is finished."""
        steps: Sequence[tuple[str, Callable[[], None]]] = (
            ("promoted", self._promote),
            ("scaled_up", lambda: self._scale(self._most_replicas)),
            ("engine_killed", self._kill_engine),
            ("settings_changed", self._change_settings),
            ("scaled_from_zero_and_back", self._scale_to_zero_and_up),
            ("scaled_down", lambda: self._scale(1)),
            ("rolled_back", self._roll_back),
            ("paused_and_resumed", self._pause_and_resume),
            ("cancelled", self._cancel),
            # To where it began: what a deployment came back to by a promotion has nothing before.
            ("rolled_back", self._roll_back),
        )
        while not ending.is_set():
            for name, step in steps:
                if ending.is_set():
                    break
                self._begun.append((time.monotonic(), name))
                step()
                self.done[name] += 1

    def under_way_at(self, when: float) -> str:
        """Return the change that was made then, by `time.monotonic`."""
        return next((name for at, name in reversed(self._begun) if at <= when), "none")

    def _promote(self) -> None:
        self._begin(canary_percent=None)
        self._until_still()

    def _roll_back(self) -> None:
        self._patch(canary_percent=None)
        self._post("roll_back")
        self._until_still()

    def _pause_and_resume(self) -> None:
        self._begin_a_canary()
        self._post("resume_promotion")
        self._until_still()

    def _cancel(self) -> None:
        self._begin_a_canary()
        self._post("cancel_promotion")
        self._until_still()

    def _scale(self, replicas: int) -> None:
        self._resize(replicas)
        self._eventually(lambda: self._ready() == replicas, f"{replicas} replicas")

    def _scale_to_zero_and_up(self) -> None:
        """Let silence take it to zero; questions wake it, wait, and call for all replicas."""
        most = self._most_replicas
        self._settings({"min_replica": 0, "max_replica": most, "concurrency_target": 1})
        with self._traffic.silence():
            self._eventually(lambda: self._status() == "SCALED_TO_ZERO", "zero replicas")
        self._eventually(lambda: self._ready() == most, f"{most} replicas by traffic")

    def _kill_engine(self) -> None:
        """Kill one of several: what it had begun to answer ends with it."""
        replicas = self._ready()
        victim = self._here.pids("engine")[0]
        self.at_a_kill |= self._traffic.on_their_way()
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        self.at_a_kill |= self._traffic.on_their_way()
        self._eventually(lambda: self._ready() < replicas, "a replica less")
        self._eventually(lambda: self._ready() == replicas, "the replica that replaces it")

    def _change_settings(self) -> None:
        self._settings({"concurrency_target": 10 + self.done.total() % 5})

    # Steps.

    def _begin_a_canary(self) -> None:
        """Give half of the traffic to the other one, where it holds."""
        self._begin(canary_percent=50)
        self._eventually(lambda: self._promotion()["status"] == "PAUSED", "a canary that holds")

    def _begin(self, *, canary_percent: int | None) -> None:
        self._patch(canary_percent=canary_percent)
        other = self._second if self._serving() == self._first else self._first
        self._post("promote", {"deployment_id": other})

    def _post(self, what: str, body: dict[str, Any] | None = None) -> None:
        """Ask until it is taken: what has just moved answers 409 for some seconds."""
        path = f"{self._path}/{_PLACE}/{what}"
        self._eventually(lambda: bool(self._here.post(path, body)), f"that {what} is taken")

    def _patch(self, **settings: Any) -> None:
        self._here.patch(f"{self._path}/{_PLACE}", {"promotion_settings": settings})

    def _resize(self, replicas: int) -> None:
        self._settings({"min_replica": replicas, "max_replica": replicas})

    def _settings(self, changed: dict[str, int]) -> None:
        path = f"{self._path}/deployments/{self._serving()}/autoscaling_settings"
        self._here.patch(path, _SETTINGS | changed)

    def _until_still(self) -> None:
        self._eventually(
            lambda: (
                (place := self._place())["candidate_deployment"] is None
                and (place["in_progress_promotion"] or {}).get("status") in _ENDED
                and place["current_deployment"]["status"] == "ACTIVE"
            ),
            "the end of a promotion",
        )

    def _place(self) -> dict[str, Any]:
        return self._here.get(f"{self._path}/{_PLACE}")

    def _promotion(self) -> dict[str, Any]:
        return self._place()["in_progress_promotion"] or {"status": None}

    def _serving(self) -> str:
        return str(self._place()["current_deployment"]["id"])

    def _ready(self) -> int:
        return int(self._deployment()["active_replica_count"])

    def _status(self) -> str:
        return str(self._deployment()["status"])

    def _deployment(self) -> dict[str, Any]:
        return self._here.get(f"{self._path}/deployments/{self._serving()}")

    def _eventually(self, holds: Callable[[], bool], what: str) -> None:
        def holds_now() -> bool:
            with suppress(httpx.HTTPError):
                return holds()
            return False

        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not holds_now():
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{what} did not come in {_PATIENCE_SECONDS:g} s: {self._place()}"
                )
            time.sleep(_LOOK_SECONDS)

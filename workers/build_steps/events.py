"""What a step tells its supervisor: JSON lines on an inherited pipe."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures import Failure

# Ten a second is as fast as a page shows them; the last one always goes out.
_SECONDS_BETWEEN_PROGRESS = 0.1


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a step is; `total` is None where nobody can know."""

    done: int
    total: int | None
    unit: str
    seconds_left: float | None = None
    """At the pace so far; None where a step cannot tell."""


class Events:
    def __init__(self, descriptor: int, *, clock: Clock = SYSTEM) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._last_progress = float("-inf")

    def progress(
        self, done: int, total: int | None, unit: str, *, seconds_left: float | None = None
    ) -> None:
        """Tell how far the step is; calls in quick succession are thinned out."""
        now = self._clock.monotonic()
        if done != total and now - self._last_progress < _SECONDS_BETWEEN_PROGRESS:
            return
        self._last_progress = now
        event: dict[str, Any] = {"type": "progress", "done": done, "total": total, "unit": unit}
        if seconds_left is not None:
            event["seconds_left"] = round(seconds_left, 1)
        self._send(event)

    def result(self, values: Mapping[str, Any]) -> None:
        self._send({"type": "result", "values": values})

    def failure(self, failure: Failure) -> None:
        self._send({"type": "failure", "failure": failure.to_json()})

    def peak(self, held_bytes: int) -> None:
        """Tell how much memory this process held at most."""
        self._send({"type": "peak", "host_bytes": held_bytes})

    def _send(self, event: Mapping[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]


class EventReader:
    """Puts the events of a step together from what arrives on its pipe."""

    def __init__(self) -> None:
        self.values: dict[str, Any] | None = None
        self.failure: Failure | None = None
        self.peak_host_bytes: int | None = None
        self._progress: Progress | None = None
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take some bytes; a line that is no event is dropped."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line)

    def take_progress(self) -> Progress | None:
        """Return the newest progress since the last call."""
        progress, self._progress = self._progress, None
        return progress

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            match event["type"]:
                case "progress":
                    self._progress = Progress(
                        done=event["done"],
                        total=event["total"],
                        unit=event["unit"],
                        seconds_left=event.get("seconds_left"),
                    )
                case "result":
                    self.values = dict(event["values"])
                case "peak":
                    self.peak_host_bytes = int(event["host_bytes"])
                case "failure":
                    self.failure = Failure.from_json(event["failure"])
        except (ValueError, KeyError, TypeError):
            # A child that is killed in the middle of a write leaves half a line.
            return

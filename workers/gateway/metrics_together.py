"""One page of metrics for all gateway processes of a host.

Each keeps its counts in a file that the others read, and goes on from there when it is started
anew: so whichever process is asked tells of all, and a sum never falls.
"""

import json
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from controlplane.clock import SYSTEM, Clock
from workers.gateway.metrics import DeploymentCounts, Histogram, Metrics

log = logging.getLogger(__name__)
KEEP_SECONDS = 2.0
_LIVE_SECONDS = 5 * KEEP_SECONDS
"""A process that has not kept its counts for longer has nothing running."""
_COUNTERS = ("slips", "routes_differed", "spans_dropped")
_SUFFIX = ".json"

Kept = dict[str, Any]
IsKnown = Callable[[str], bool]


class MetricsTogether:
    """Of one process of a group."""

    def __init__(
        self, folder: Path, process: int, metrics: Metrics, *, clock: Clock = SYSTEM
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._process, self._clock = folder, str(process), clock
        self._metrics = metrics

    def begin(self, is_known: IsKnown) -> None:
        """Go on from what the process before has counted of deployments that are known."""
        if (kept := _read(self._path(self._process))) is not None:
            rows = [row for row in kept["deployments"] if is_known(row["id"])]
            _add(self._metrics, kept | {"deployments": rows}, lives=False)

    def keep(self) -> None:
        """Write down what was counted; the next time, where the disk takes nothing."""
        path, metrics = self._path(self._process), _kept(self._metrics, self._clock.monotonic())
        fresh = path.with_suffix(".new")
        try:
            fresh.write_bytes(json.dumps(metrics, separators=(",", ":")).encode())
            fresh.replace(path)
        except OSError as error:
            log.debug("what was counted is not kept: %s", error)

    def metrics(self) -> Metrics:
        """Return what all have counted; the examples are this one's own."""
        now, total = self._clock.monotonic(), Metrics()
        total.by_process = {}
        own = _kept(self._metrics, now)
        parts = {self._process: own} | self._others()
        for process, kept in sorted(parts.items()):
            lives = 0 <= now - kept["at"] <= _LIVE_SECONDS
            _add(total, kept, lives=lives)
            if lives:
                total.by_process[process] = (kept["snapshot_version"], kept["limits_are_shared"])
        _show_examples(total, self._metrics)
        return total

    def _others(self) -> dict[str, Kept]:
        paths = self._folder.glob(f"*{_SUFFIX}")
        metrics_of = {path.stem: _read(path) for path in paths if path.stem != self._process}
        return {process: kept for process, kept in metrics_of.items() if kept is not None}

    def _path(self, process: str) -> Path:
        return self._folder / f"{process}{_SUFFIX}"


def _read(path: Path) -> Kept | None:
    """Return what a process kept; None where there is nothing, or no sense in it."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        kept: Kept = json.loads(path.read_bytes())
        _add(Metrics(), kept, lives=True)
        float(kept["at"]), int(kept["snapshot_version"]), bool(kept["limits_are_shared"])
        return kept
    return None


def _kept(metrics: Metrics, now: float) -> Kept:
    return {
        "at": now,
        "snapshot_version": metrics.snapshot_version,
        "limits_are_shared": metrics.limits_are_shared,
        "client_connections": metrics.client_connections,
        "refused": {str(status): many for status, many in metrics.refused.items()},
        "deployments": [_row(*ids, counts) for ids, counts in metrics.deployments.items()],
    } | {name: getattr(metrics, name) for name in _COUNTERS}


def _row(model_id: str, id: str, counts: DeploymentCounts) -> Kept:
    return {
        "model_id": model_id,
        "id": id,
        "in_flight": counts.in_flight,
        "waiting": counts.waiting,
        "ejected": counts.ejected,
        "by_status_class": counts.by_status_class,
        "duration": (counts.duration.total, counts.duration.counts),
        "first_byte": (counts.first_byte.total, counts.first_byte.counts),
        "upstream_errors": counts.upstream_errors,
        "choices": counts.choices,
        "beliefs": counts.beliefs,
    }


def _add(total: Metrics, kept: Kept, *, lives: bool) -> None:
    """Count what a process has kept; what runs in it only where it lives."""
    for name in _COUNTERS:
        setattr(total, name, getattr(total, name) + kept[name])
    for status, many in kept["refused"].items():
        total.refused[int(status)] = total.refused.get(int(status), 0) + many
    total.client_connections += kept["client_connections"] if lives else 0
    for row in kept["deployments"]:
        counts = total.of(row["model_id"], row["id"])
        _add_row(counts, row)
        if lives:
            counts.in_flight += row["in_flight"]
            counts.waiting += row["waiting"]
            for reason, many in row.get("ejected", {}).items():  # each ejects for itself
                counts.ejected[reason] = max(many, counts.ejected.get(reason, 0))


def _add_row(counts: DeploymentCounts, row: Kept) -> None:
    _add_each(counts.by_status_class, row["by_status_class"])
    for histogram, (seconds, many) in (
        (counts.duration, row["duration"]),
        (counts.first_byte, row["first_byte"]),
    ):
        histogram.total += seconds
        _add_each(histogram.counts, many)
    for sums, more in (
        (counts.upstream_errors, row["upstream_errors"]),
        (counts.choices, row["choices"]),
        (counts.beliefs, row.get("beliefs", {})),
    ):
        for reason, many in more.items():
            sums[reason] = sums.get(reason, 0) + many


def _add_each(sums: list[int], more: Collection[int]) -> None:
    for place, (before, many) in enumerate(zip(sums, more, strict=True)):
        sums[place] = before + many


def _show_examples(total: Metrics, own: Metrics) -> None:
    for ids, counts in own.deployments.items():
        pairs: tuple[tuple[Histogram, Histogram], ...] = (
            (total.of(*ids).duration, counts.duration),
            (total.of(*ids).first_byte, counts.first_byte),
        )
        for shown, known in pairs:
            shown.latest = list(known.latest)

"""What a step says of itself while it runs: its log and its progress, written once a second."""

from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.builds.services.measuring import step_measure
from apps.builds.services.progress import Progress, step_log, step_log_owner, step_progress
from apps.leases.lease import LeaseLost
from apps.telemetry.logs import log_next_sequence
from controlplane.domain.forecast.outcome import Measured
from workers.build_steps.child import StepOutcome
from workers.build_steps.events import Progress as ReportedProgress
from workers.build_steps.outputs import size_of
from workers.tasks.leasing import LeaseKeeper, LeaseStatus, retry_on_db_error

_WRITE_SECONDS = 0.5
_LARGEST_CHUNK = 64_000
_MOST_KEPT = 1_000_000
"""While the database is away, no more than this is kept of a log."""


class StepReport:
    """Takes a child's redacted output and its progress, and stores them under the lease."""

    def __init__(self, keeper: LeaseKeeper, *, step: str, attempt: int) -> None:
        self._keeper = keeper
        self._lease = keeper.lease
        self._clock = keeper.clock
        self._step = step
        self._text = ""
        self._progress: Progress | None = None
        self._stored_progress: Progress | None = None
        self._written_at = 0.0
        owner = step_log_owner(build_id=self._lease.id, step=step)
        self._sequence = retry_on_db_error(
            keeper, lambda: log_next_sequence(owner=owner, attempt=attempt)
        )

    @property
    def progress(self) -> Progress | None:
        return self._progress

    def on_log(self, data: bytes) -> None:
        self._text += data.decode(errors="replace")
        if len(self._text) > _MOST_KEPT:
            self._text = self._text[-_MOST_KEPT:].partition("\n")[2]
        self.tick()

    def on_progress(self, progress: ReportedProgress) -> None:
        self._progress = Progress(
            done=progress.done,
            total=progress.total,
            unit=progress.unit,
            seconds_left=progress.seconds_left,
        )
        self.tick()

    def say(self, sentence: str) -> None:
        self.on_log(f"{self._clock.now():%H:%M:%S} {sentence}\n".encode(errors="ignore"))

    def measure(self, outcome: StepOutcome, output: Path) -> None:
        """Store what the run took, however it ended; `output` is the folder that it wrote to."""
        if self._keeper.status is LeaseStatus.LOST:
            return
        measured = _measured(outcome, size_of(output) or None)
        retry_on_db_error(
            self._keeper,
            lambda: step_measure(lease=self._lease, step=self._step, measured=measured),
        )

    def tick(self) -> None:
        """Store what has gathered, where it is time and the database answers."""
        now = self._clock.monotonic()
        if now - self._written_at < _WRITE_SECONDS or not self._keeper.is_reachable:
            return
        self._written_at = now
        try:
            self._write()
        except (OperationalError, InterfaceError):
            connection.close()
        except LeaseLost:
            self._text = ""

    def close(self) -> None:
        retry_on_db_error(self._keeper, self._write)

    def _write(self) -> None:
        while self._text:
            chunk = self._text[:_LARGEST_CHUNK]
            step_log(lease=self._lease, step=self._step, sequence=self._sequence, text=chunk)
            self._sequence += 1
            self._text = self._text[len(chunk) :]
        if self._progress is not None and self._progress != self._stored_progress:
            step_progress(lease=self._lease, step=self._step, progress=self._progress)
            self._stored_progress = self._progress


def _measured(outcome: StepOutcome, disk_bytes: int | None) -> Measured:
    """Return the supervisor's count; of GPUs also what torch itself says, which is less."""
    peaks, torch_bytes = outcome.peaks, (outcome.values or {}).get("peak_device_bytes")
    device_bytes = torch_bytes if peaks.device_bytes is None else peaks.device_bytes
    source = "torch" if peaks.device_bytes is None else "NVML"
    return Measured(
        seconds=round(peaks.seconds, 2),
        host=settings.NODE_NAME,
        peak_host_bytes=peaks.host_bytes,
        peak_device_bytes=device_bytes,
        device_bytes_from=None if device_bytes is None else source,
        disk_bytes=disk_bytes,
    )

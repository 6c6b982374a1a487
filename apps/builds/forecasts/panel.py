"""A forecast in words, alone before a build and beside what was measured after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from apps.builds.models import Build
from apps.builds.step_labels import LABELS
from apps.ui import formats
from controlplane.domain.forecast import Basis, Forecast, QueuePlace
from controlplane.domain.forecast.cached import CachedArtifact
from controlplane.domain.forecast.outcome import (
    Amount,
    Measured,
    Outcome,
    StepTaken,
    compare,
    planned_only,
)
from controlplane.domain.lifecycle import BuildState

_LABELS = {
    Amount.SECONDS: "Time",
    Amount.HOST: "Host memory at its peak",
    Amount.DEVICE: "GPU memory at its peak",
    Amount.DISK: "Disk: checkpoint and export",
}
_SHORT = {
    Amount.SECONDS: "",
    Amount.HOST: " host memory",
    Amount.DEVICE: " GPU memory",
    Amount.DISK: " disk",
}
_BASES = {Basis.FORMULA: "by formula", Basis.MEASURED: "as measured before"}


@dataclass(frozen=True, kw_only=True)
class ForecastRow:
    compared: Outcome

    @property
    def label(self) -> str:
        return _LABELS[self.compared.amount]

    @property
    def planned(self) -> str:
        """`12 to 40 s`; a dash where nobody knows."""
        if (estimate := self.compared.planned) is None:
            return formats.ABSENT
        low, high = self._words(estimate.low), self._words(estimate.high)
        return low if low == high else f"{low} to {high}"

    @property
    def basis(self) -> str:
        compared, parts = self.compared, []
        if compared.planned is not None:
            parts.append(f"{_BASES[compared.planned.basis]}: {compared.planned.source}")
        if compared.measured_by:
            parts.append(f"measured: {compared.measured_by}")
        elif compared.absent:
            parts.append(compared.absent if compared.planned is None else _none(compared.absent))
        return "; ".join(parts) or "no formula says"

    @property
    def planned_by(self) -> str:
        if (estimate := self.compared.planned) is None:
            return "is not known: no formula says"
        return f"{_BASES[estimate.basis]}: {estimate.source}"

    @property
    def measured(self) -> str:
        """What happened; for a step that has nothing to show, why."""
        if self.compared.measured is not None:
            return self._words(self.compared.measured)
        is_reused = (self.compared.absent or "").startswith("reused")
        return "reused" if is_reused else formats.ABSENT

    @property
    def ratio(self) -> str:
        """Measured over the middle of the plan: `× 0.93`."""
        ratio = self.compared.ratio
        return formats.ABSENT if ratio is None else f"×{formats.THIN_SPACE}{ratio:.2f}"

    def _words(self, value: float) -> str:
        if self.compared.amount is Amount.SECONDS:
            return formats.duration(value)
        return formats.size(value)


@dataclass(frozen=True, kw_only=True)
class StepRow:
    label: str
    seconds: ForecastRow
    host: ForecastRow

    @property
    def basis(self) -> str:
        return f"Time {self.seconds.planned_by}. Memory {self.host.planned_by}."


@dataclass(frozen=True, kw_only=True)
class ForecastPanel:
    """A stored forecast; `steps` is empty before there is a build."""

    forecast: Forecast
    steps: Sequence[StepTaken] = ()
    queue: QueuePlace | None = None
    """The place now, of a build that still waits."""
    has_ended: bool = False

    @property
    def absent(self) -> str:
        """Why there is no forecast; empty where there is one."""
        return self.forecast.absent or ""

    @property
    def waits(self) -> bool:
        """Whether builds can still come before it: it waits, or there is none yet."""
        return self.queue is not None or not self.steps

    @property
    def is_compared(self) -> bool:
        return any(step.measured for step in self.steps) or self.has_ended

    @cached_property
    def compared(self) -> tuple[Outcome, ...]:
        """Every amount, planned and, once there is anything of it, measured."""
        if self.is_compared:
            return compare(self.forecast, self.steps)
        return planned_only(self.forecast)

    @property
    def totals(self) -> Sequence[ForecastRow]:
        return [ForecastRow(compared=each) for each in self.compared if each.step is None]

    @property
    def line(self) -> str:
        """The amounts that are known, in one line: `2 to 4 min · 1.2 GiB of host memory`."""
        known = [row for row in self.totals if row.compared.planned is not None]
        return " · ".join(f"{row.planned}{_SHORT[row.compared.amount]}" for row in known)

    @property
    def step_rows(self) -> Sequence[StepRow]:
        of_steps = [each for each in self.compared if each.step is not None]
        return [
            StepRow(
                label=LABELS.get(seconds.step or "", seconds.step or ""),
                seconds=ForecastRow(compared=seconds),
                host=ForecastRow(compared=host),
            )
            for seconds, host in zip(of_steps[::2], of_steps[1::2], strict=True)
        ]

    @property
    def disk_words(self) -> str:
        if (disk := self.forecast.disk) is None:
            return ""
        parts = []
        if disk.download_bytes:
            parts.append(f"{formats.size(disk.download_bytes)} to download")
        elif disk.download_bytes == 0:
            parts.append("nothing to download")
        if disk.exported_bytes:
            parts.append(f"{formats.size(disk.exported_bytes)} to export")
        return ", ".join(parts)

    @property
    def queue_words(self) -> str:
        queue = self.queue or self.forecast.queue
        ahead = queue.waiting + queue.running
        pool = f"pool `{queue.pool}`"
        if not ahead:
            return f"Nothing is before it in {pool}."
        words = (
            f"{ahead} build{'' if ahead == 1 else 's'} before it in {pool} "
            f"({queue.running} running, {queue.waiting} waiting)"
        )
        if queue.high_seconds is None:
            return f"{words}; how long they take is {queue.source}."
        low, high = formats.duration(queue.low_seconds), formats.duration(queue.high_seconds)
        return f"{words}, about {low} to {high} by {queue.source}."

    @property
    def checkpoint_words(self) -> str:
        return self.forecast.cached.checkpoint.words if self.forecast.cached else ""

    @property
    def artifact(self) -> CachedArtifact | None:
        return self.forecast.cached.artifact if self.forecast.cached else None

    @property
    def artifact_conditions(self) -> str:
        if (artifact := self.artifact) is None:
            return ""
        tools = [f"{name} {version}" for name, version in artifact.tool_versions.items() if version]
        words = ", ".join(sorted(tools))
        if data := artifact.calibration:
            return f"{words}, and {data.dataset} at {data.revision[:18]}"
        return words


def _none(absent: str) -> str:
    return f"not measured: {absent}"


def forecast_panel(build: Build, queue: QueuePlace | None = None) -> ForecastPanel | None:
    """Return what the build was expected to take, beside what it took; None for older builds."""
    if build.forecast is None:
        return None
    steps = [
        StepTaken(
            name=each.name,
            state=each.state,
            measured=Measured.model_validate(each.measured) if each.measured else None,
        )
        for each in build.steps.all()
    ]
    return ForecastPanel(
        forecast=Forecast.model_validate(build.forecast),
        steps=steps,
        queue=queue if build.state == BuildState.QUEUED else None,
        has_ended=build.finished_at is not None,
    )

"""A build's forecast beside what happened: the same amounts, planned and measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import computed_field

from controlplane.domain.forecast.build_forecast import BuildForecast
from controlplane.domain.forecast.estimate import Estimate, by_formula
from controlplane.domain.record import Record

_BY_SUPERVISOR = "resident memory of all processes of the step, by its supervisor"
_BY_CLOCK = "the step's own process, without what it waited for GPUs"
_DISK_STEPS = ("fetch", "calibrate")


class Amount(StrEnum):
    SECONDS = "seconds"
    HOST = "peak_host_bytes"
    DEVICE = "peak_device_bytes"
    DISK = "disk_bytes"


class Measured(Record):
    """What a step's run took by its supervisor's count; null where nobody could measure."""

    seconds: float
    """How long it ran."""
    host: str
    """The host that ran it."""
    peak_host_bytes: int | None
    """Host memory at its peak."""
    peak_device_bytes: int | None
    """GPU memory at its peak."""
    device_bytes_from: str | None
    """What counted the GPU memory."""
    disk_bytes: int | None
    """What it left on disk."""


@dataclass(frozen=True, kw_only=True)
class StepTaken:
    """One step as its row has it; `measured` is None for one that never ran."""

    name: str
    state: str
    measured: Measured | None


class Outcome(Record):
    """One amount of the build, or of one step: planned and measured."""

    amount: Amount
    """What was measured."""
    step: str | None
    """The step; null for the whole build."""
    planned: Estimate | None
    """What was expected; null where nothing was."""
    measured: float | None
    """What it took; null where nobody could measure."""
    measured_by: str | None
    """What measured it."""
    absent: str | None
    """Why one of the two is missing; null where none is."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator above a property
    @property
    def ratio(self) -> float | None:
        """Measured over the middle of what was planned."""
        if self.planned is None or self.measured is None or not self.planned.middle:
            return None
        return round(self.measured / self.planned.middle, 3)


def compare(forecast: BuildForecast, steps: Sequence[StepTaken]) -> tuple[Outcome, ...]:
    return (*_of_build(forecast, steps), *_of_steps(forecast, steps))


def planned_only(forecast: BuildForecast) -> tuple[Outcome, ...]:
    """Return the same amounts before anything ran; `absent` only says why nothing is planned."""
    steps = [StepTaken(name=each.name, state="waiting", measured=None) for each in forecast.steps]
    return tuple(
        each
        if each.amount is Amount.DEVICE and each.planned is None
        else each.model_copy(update={"absent": None})
        for each in compare(forecast, steps)
    )


def _of_build(forecast: BuildForecast, steps: Sequence[StepTaken]) -> Iterator[Outcome]:
    unfinished = sum(each.state not in ("finished", "reused") for each in steps)
    yield _whole(
        Amount.SECONDS,
        forecast.seconds,
        None if unfinished else _sum(steps, "seconds"),
        _BY_CLOCK.replace("the step's own process", "the processes of its steps"),
        _not_over(unfinished) if unfinished else _nothing_ran(steps),
    )
    yield _whole(
        Amount.HOST,
        forecast.host_bytes,
        _most(steps, "peak_host_bytes"),
        _BY_SUPERVISOR,
        _nothing_ran(steps),
    )
    sources = {
        each.measured.device_bytes_from
        for each in steps
        if each.measured and each.measured.device_bytes_from
    }
    yield _whole(
        Amount.DEVICE,
        forecast.device_bytes,
        _most(steps, "peak_device_bytes"),
        ", ".join(sorted(sources)),
        forecast.device_absent or "no step used a GPU, or nobody could tell how much of it",
    )
    yield _whole(
        Amount.DISK,
        _working(forecast),
        _sum([each for each in steps if each.name in _DISK_STEPS], "disk_bytes"),
        "the files that fetch and calibrate left",
        _nothing_ran(steps),
    )


def _of_steps(forecast: BuildForecast, steps: Sequence[StepTaken]) -> Iterator[Outcome]:
    planned = {each.name: each for each in forecast.steps}
    for step in steps:
        plan, measured = planned.get(step.name), step.measured
        absent = None if step.measured else _why_unmeasured(step)
        for amount, estimate, value, by in (
            (Amount.SECONDS, plan and plan.seconds, measured and measured.seconds, _BY_CLOCK),
            (
                Amount.HOST,
                plan and plan.host_bytes,
                measured and measured.peak_host_bytes,
                _BY_SUPERVISOR,
            ),
        ):
            yield Outcome(
                amount=amount,
                step=step.name,
                planned=estimate,
                measured=value,
                measured_by=None if value is None else by,
                absent=absent,
            )


def _whole(
    amount: Amount,
    planned: Estimate | None,
    measured: float | None,
    by: str,
    absent: str | None,
) -> Outcome:
    return Outcome(
        amount=amount,
        step=None,
        planned=planned,
        measured=measured,
        measured_by=None if measured is None else by,
        absent=absent if measured is None else None,
    )


def _working(forecast: BuildForecast) -> Estimate | None:
    disk = forecast.disk
    if disk is None or disk.working_bytes is None:
        return None
    return by_formula(disk.working_bytes, disk.working_bytes, disk.source)


def _sum(steps: Sequence[StepTaken], name: str) -> float | None:
    """Return the sum of what was measured; a step that was reused took nothing."""
    return sum(values) if (values := _values(steps, name)) else None


def _most(steps: Sequence[StepTaken], name: str) -> float | None:
    return max(_values(steps, name), default=None)


def _values(steps: Sequence[StepTaken], name: str) -> Sequence[float]:
    measured = (getattr(each.measured, name, None) for each in steps)
    return [value for value in measured if value]


def _not_over(unfinished: int) -> str:
    return f"{unfinished} step{'' if unfinished == 1 else 's'} not finished"


def _nothing_ran(steps: Sequence[StepTaken]) -> str:
    if all(each.state == "reused" for each in steps):
        return "every step was reused, so nothing ran"
    return "no step was measured"


def _why_unmeasured(step: StepTaken) -> str:
    if step.state == "reused":
        return "reused: it took no time"
    if step.state in ("waiting", "running"):
        return "not over"
    return "it was not measured"

"""A build's forecast beside what happened: the same amounts, planned and measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

_BY_SUPERVISOR = "resident memory of all processes of the step, by its supervisor"
_BY_CLOCK = "the step's own process, without what it waited for GPUs"
_DISK_STEPS = ("fetch", "calibrate")


class Amount(StrEnum):
    SECONDS = "seconds"
    HOST = "peak_host_bytes"
    DEVICE = "peak_device_bytes"
    DISK = "disk_bytes"


@dataclass(frozen=True, kw_only=True)
class StepTaken:
    """One step as its row has it; `measured` is None for one that never ran."""

    name: str
    state: str
    measured: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Compared:
    amount: Amount
    step: str | None
    planned: Mapping[str, Any] | None
    """An estimate's stored form."""
    measured: float | None
    measured_by: str | None
    absent: str | None = None
    """Why nothing is measured, where that is known."""

    @property
    def ratio(self) -> float | None:
        """Measured over the middle of what was planned."""
        if self.planned is None or self.measured is None:
            return None
        middle = (self.planned["low"] + self.planned["high"]) / 2
        return self.measured / middle if middle else None

    def to_json(self) -> dict[str, Any]:
        return {
            "amount": self.amount.value,
            "step": self.step,
            "planned": dict(self.planned) if self.planned else None,
            "measured": self.measured,
            "measured_by": self.measured_by,
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "absent": self.absent,
        }


def compare(forecast: Mapping[str, Any], steps: Sequence[StepTaken]) -> tuple[Compared, ...]:
    return (*_of_build(forecast, steps), *_of_steps(forecast, steps))


def planned_only(forecast: Mapping[str, Any]) -> tuple[Compared, ...]:
    """Return the same amounts before anything ran; `absent` only says why nothing is planned."""
    steps = [
        StepTaken(name=each["name"], state="waiting", measured=None)
        for each in forecast.get("steps", ())
    ]
    return tuple(
        each
        if each.amount is Amount.DEVICE and each.planned is None
        else replace(each, absent=None)
        for each in compare(forecast, steps)
    )


def _of_build(forecast: Mapping[str, Any], steps: Sequence[StepTaken]) -> Iterator[Compared]:
    unfinished = sum(each.state not in ("finished", "reused") for each in steps)
    yield _whole(
        Amount.SECONDS,
        forecast.get("seconds"),
        None if unfinished else _sum(steps, "seconds"),
        _BY_CLOCK.replace("the step's own process", "the processes of its steps"),
        _not_over(unfinished) if unfinished else _nothing_ran(steps),
    )
    yield _whole(
        Amount.HOST,
        forecast.get("host_bytes"),
        _most(steps, "peak_host_bytes"),
        _BY_SUPERVISOR,
        _nothing_ran(steps),
    )
    sources = {
        each.measured["device_bytes_from"]
        for each in steps
        if each.measured and each.measured.get("device_bytes_from")
    }
    yield _whole(
        Amount.DEVICE,
        forecast.get("device_bytes"),
        _most(steps, "peak_device_bytes"),
        ", ".join(sorted(sources)),
        forecast.get("device_absent") or "no step used a GPU, or nobody could tell how much of it",
    )
    yield _whole(
        Amount.DISK,
        _working(forecast),
        _sum([each for each in steps if each.name in _DISK_STEPS], "disk_bytes"),
        "the files that fetch and calibrate left",
        _nothing_ran(steps),
    )


def _of_steps(forecast: Mapping[str, Any], steps: Sequence[StepTaken]) -> Iterator[Compared]:
    planned = {each["name"]: each for each in forecast.get("steps", ())}
    for step in steps:
        plan = planned.get(step.name, {})
        measured = step.measured or {}
        absent = None if step.measured else _why_unmeasured(step)
        for amount, estimate, by in (
            (Amount.SECONDS, plan.get("seconds"), _BY_CLOCK),
            (Amount.HOST, plan.get("host_bytes"), _BY_SUPERVISOR),
        ):
            value = measured.get(amount.value)
            yield Compared(
                amount=amount,
                step=step.name,
                planned=estimate,
                measured=value,
                measured_by=None if value is None else by,
                absent=absent,
            )


def _whole(
    amount: Amount,
    planned: Mapping[str, Any] | None,
    measured: float | None,
    by: str,
    absent: str | None,
) -> Compared:
    return Compared(
        amount=amount,
        step=None,
        planned=planned,
        measured=measured,
        measured_by=None if measured is None else by,
        absent=absent if measured is None else None,
    )


def _working(forecast: Mapping[str, Any]) -> Mapping[str, Any] | None:
    disk = forecast.get("disk") or {}
    if disk.get("working_bytes") is None:
        return None
    amount = disk["working_bytes"]
    return {
        "low": amount,
        "high": amount,
        "basis": "formula",
        "source": disk["source"],
        "builds": 0,
    }


def _sum(steps: Sequence[StepTaken], name: str) -> float | None:
    """Return the sum of what was measured; a step that was reused took nothing."""
    values = [each.measured[name] for each in steps if each.measured and each.measured.get(name)]
    return sum(values) if values else None


def _most(steps: Sequence[StepTaken], name: str) -> float | None:
    values = [each.measured[name] for each in steps if each.measured and each.measured.get(name)]
    return max(values, default=None)


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

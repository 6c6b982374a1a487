"""How long a step takes, by batch and drafted tokens: measured where it was, else as planned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.speed import Range, Speed


class StepTimes(Protocol):
    """The steps of one engine, device and model."""

    @property
    def basis(self) -> str: ...

    @property
    def is_absolute(self) -> bool:
        """Whether they are seconds; else only their ratios mean something."""
        ...

    def seconds(self, batch: int, drafted_tokens: float | None) -> float:
        """Return a step's time; None: lookahead is off, 0: it is on and nothing is drafted."""
        ...


@dataclass(frozen=True, kw_only=True)
class MeasuredSteps:
    """Steps of one request on one kind of device, held to a kept result by a test."""

    device_kind: str
    layers: int | None
    """Of the shape; None: of any, where ratios of times are all that is told."""
    bytes_per_weight: float | None
    plain_seconds: float
    """Without lookahead; 1 where `is_absolute` is not."""
    drafted_seconds: Sequence[tuple[int, float]]
    """(tokens of the draft, seconds) with lookahead on, from no draft on."""
    where: str
    is_absolute: bool = True

    def fits(self, kind: str, checkpoint: CheckpointFacts | None, bytes_per_weight: float) -> bool:
        is_shape = self.layers is None or (
            checkpoint is not None and checkpoint.layers == self.layers
        )
        is_precision = self.bytes_per_weight in (None, bytes_per_weight)
        return self.device_kind == kind and is_shape and is_precision

    def seconds_of_one(self, drafted_tokens: float | None) -> float:
        """Return the time of a step of one request, straight between what was measured."""
        if drafted_tokens is None:
            return self.plain_seconds
        low, *others = self.drafted_seconds
        for high in others:
            if drafted_tokens <= high[0] or high is others[-1]:
                share = (drafted_tokens - low[0]) / (high[0] - low[0])
                return low[1] + share * (high[1] - low[1])
            low = high
        return low[1]


@dataclass(frozen=True, kw_only=True)
class PlannedSteps:
    """Steps by the plan's formula: the middle between its best and its worst case."""

    speed: Speed
    is_absolute: bool = True

    @property
    def basis(self) -> str:
        return f"No step of this engine, GPU and model was measured. {self.speed.basis}"

    def seconds(self, batch: int, drafted_tokens: float | None) -> float:
        drafts = 0 if drafted_tokens is None else max(1, round(drafted_tokens))
        return _middle(batch, self.speed.tokens_per_second(batch, draft_tokens=drafts))


@dataclass(frozen=True, kw_only=True)
class MeasuredThenPlanned:
    """Measured for one request; a larger batch takes as many times longer as the plan says."""

    measured: MeasuredSteps
    planned: PlannedSteps
    is_absolute: bool = True

    @property
    def basis(self) -> str:
        return (
            f"For one request by steps measured on {self.measured.where}; for more at once by the "
            "plan's formula, set to these."
        )

    def seconds(self, batch: int, drafted_tokens: float | None) -> float:
        one = self.measured.seconds_of_one(drafted_tokens)
        grown = self.planned.seconds(batch, drafted_tokens) / self.planned.seconds(
            1, drafted_tokens
        )
        return one * grown


@dataclass(frozen=True, kw_only=True)
class RelativeSteps:
    """Ratios alone, where each token computed takes time: rows and drafts count alike."""

    measured: MeasuredSteps
    is_absolute: bool = False

    @property
    def basis(self) -> str:
        return (
            f"By what verifying took beside a plain step on {self.measured.where}; how fast a "
            "plain step is on your CPU is not known, so speeds are told as ratios."
        )

    def seconds(self, batch: int, drafted_tokens: float | None) -> float:
        if drafted_tokens is None and batch == 1:
            return self.measured.seconds_of_one(None)
        computed = batch * (1 + (drafted_tokens or 0)) - 1
        return self.measured.seconds_of_one(computed)


def step_times(
    *,
    measured: Sequence[MeasuredSteps],
    kind: str,
    checkpoint: CheckpointFacts | None,
    bytes_per_weight: float,
    speed: Speed | None,
) -> StepTimes | None:
    measurement = next(
        (each for each in measured if each.fits(kind, checkpoint, bytes_per_weight)), None
    )
    if measurement is not None and not measurement.is_absolute:
        return RelativeSteps(measured=measurement)
    if speed is None:
        return None
    planned = PlannedSteps(speed=speed)
    return (
        planned
        if measurement is None
        else MeasuredThenPlanned(measured=measurement, planned=planned)
    )


def _middle(batch: int, speed: Range) -> float:
    return (batch / speed.low + batch / speed.high) / 2

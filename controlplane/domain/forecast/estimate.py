"""A number told in advance, never without what it rests on."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer

from controlplane.domain.record import Record

Tenths = Annotated[float, PlainSerializer(lambda value: round(value, 1), when_used="json")]
"""Stored and answered to one place."""


class Basis(StrEnum):
    """What an estimate rests on."""

    MEASURED = "measured"
    """Earlier builds of the same kind."""
    FORMULA = "formula"


class Estimate(Record):
    """A number told in advance, with what it rests on."""

    low: Tenths
    """The lower end."""
    high: Tenths
    """The upper end."""
    basis: Basis
    """What it rests on: earlier builds, or a formula."""
    source: str
    """The same in words."""
    builds: int
    """How many earlier builds it was measured in."""

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


def by_formula(low: float, high: float, source: str) -> Estimate:
    return Estimate(low=low, high=high, basis=Basis.FORMULA, source=source, builds=0)


def by_measurement(values: Sequence[float]) -> Estimate | None:
    """Return the range of what earlier builds of the same kind took, None where there are none."""
    if not values:
        return None
    count = len(values)
    what = "the last build" if count == 1 else f"the last {count} builds"
    return Estimate(
        low=min(values),
        high=max(values),
        basis=Basis.MEASURED,
        source=f"{what} of this checkpoint in this quantization on this kind of GPU",
        builds=count,
    )

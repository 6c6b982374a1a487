"""A number told in advance, never without what it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Basis(StrEnum):
    """What an estimate rests on."""

    MEASURED = "measured"
    """Earlier builds of the same kind."""
    FORMULA = "formula"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Bytes or seconds, from the least to the most expected."""

    low: float
    high: float
    basis: Basis
    source: str
    """In words: which builds, or which formula with its constants."""
    builds: int = 0
    """How many earlier builds it was measured in."""

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def to_json(self) -> dict[str, Any]:
        return {
            "low": round(self.low, 1),
            "high": round(self.high, 1),
            "basis": self.basis.value,
            "source": self.source,
            "builds": self.builds,
        }


def by_formula(low: float, high: float, source: str) -> Estimate:
    return Estimate(low=low, high=high, basis=Basis.FORMULA, source=source)


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

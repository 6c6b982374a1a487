"""What a button of the fit matrix says: requests held, speed, and cost where prices are known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.configs.fit_cells import cell_name
from apps.ui import formats
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.memory import FitRow
from controlplane.domain.memory.speed import Range

_MINUTES = 60


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What an hour of a GPU costs: as an admin has set it, or by the hosted product's list."""

    own: Mapping[str, float] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What stands before an amount: own prices are in a currency of the reader's."""
        return "" if self.own else "$"

    def per_million(self, row: FitRow) -> float | None:
        if not self.own:
            usd = GPUS[row.offer.kind].usd_per_minute
            return row.per_million(usd * _MINUTES) if usd else None
        price = self.own.get(row.offer.kind)
        return row.per_million(price) if price else None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A number of GPUs of a kind in a precision, which a press takes into the draft."""

    row: FitRow
    cost: float | None
    unit: str
    is_present: bool
    """Whether it is what the draft says now."""

    @property
    def name(self) -> str:
        return cell_name(self.row)

    @property
    def is_tight(self) -> bool:
        return self.row.plan is not None and self.row.plan.verdict == "tight"

    @property
    def requests(self) -> str:
        """How many requests of the length named are held at once; empty for an encoder."""
        plan = self.row.plan
        if plan is None or plan.is_encoder:
            return ""
        requests = plan.full_length_requests
        return f"{formats.number(requests)} request{'' if requests == 1 else 's'}"

    @property
    def speed(self) -> str:
        """The range of its throughput; empty where the GPU's data sheet is not known."""
        throughput, plan = self.row.throughput, self.row.plan
        if throughput is None or plan is None:
            return ""
        return f"{_between(throughput)} {'texts' if plan.is_encoder else 'tokens'}/s"

    @property
    def price(self) -> str:
        """What a million cost; empty where no price is known."""
        return "" if self.cost is None else f"{self.unit}{formats.rate(self.cost)}"

    @property
    def words(self) -> str:
        row = self.row
        price = f"{self.price} a million" if self.price else ""
        parts = (self.requests, self.speed, price, *row.reasons)
        return f"{row.devices} × {row.offer.kind}: {'; '.join(filter(None, parts))}"

    @property
    def rank(self) -> tuple[Any, ...]:
        """The present one first, then the cheapest."""
        return not self.is_present, self.cost is None, self.cost or self.row.relative_cost


def _between(speed: Range) -> str:
    return f"{_rounded(speed.low)}\u2013{_rounded(speed.high)}"


def _rounded(amount: float) -> str:
    """Return two digits that count: an estimate has no more."""
    digits = len(str(int(amount))) - 2
    return formats.number(round(amount, -digits)) if digits > 0 else formats.rate(amount)

"""Histograms that only grow, for `/metrics`: counts by fixed bounds, beside the sketches of charts.

Rows keep their order for ever, and new ones come last: stored places are counted from it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from apps.telemetry.series.names import Source

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_BYTES = tuple(float(4**power) for power in range(4, 13))
_TOKENS = tuple(float(4**power) for power in range(2, 11))
_PER_SECOND = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_RATIOS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_ROWS: Sequence[tuple[str, Sequence[float]]] = (
    ("end_to_end_seconds", SECONDS),
    ("time_to_first_token_seconds", SECONDS),
    ("queue_seconds", SECONDS),
    ("request_bytes", _BYTES),
    ("response_bytes", _BYTES),
    ("prompt_tokens", _TOKENS),
    ("completion_tokens", _TOKENS),
    ("tokens_per_second", _PER_SECOND),
    ("kv_cache_hit_ratio", _RATIOS),
)
TOTAL_CUTS: Mapping[Source, str] = {
    Source.GATEWAY: "deployment",
    Source.ENGINE: "replica",
    Source.CONTROL_PLANE: "deployment",
}
"""Which breakdown of a source has running sums."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """One histogram: a count for each bound, inclusive, one for what is above, and the sum."""

    name: str
    bounds: Sequence[float]
    first: int
    """Where its counts begin in a row."""
    sum_at: int

    def place_of(self, value: float) -> int:
        return self.first + bisect_left(self.bounds, value)

    def counts_in(self, row: Sequence[str]) -> Sequence[str]:
        """Return the row's counts of this histogram; one of an earlier release may have none."""
        return row[self.first : self.sum_at]

    def sum_in(self, row: Sequence[str]) -> str:
        return row[self.sum_at]


def _placed() -> Iterator[Tally]:
    sizes = (len(bounds) + 2 for _, bounds in _ROWS)
    for (name, bounds), first in zip(_ROWS, accumulate(sizes, initial=0), strict=False):
        yield Tally(name=name, bounds=bounds, first=first, sum_at=first + len(bounds) + 1)


TALLIES: Mapping[str, Tally] = {each.name: each for each in _placed()}

"""One point of one line: buckets of several label sets put together, and what they say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat

from apps.telemetry.series.names import Across, Kind, Series
from apps.telemetry.series.percentiles import Merged, merged_percentiles

PERCENTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_STATISTICS: Mapping[Kind, Sequence[str]] = {
    Kind.COUNTER: ("sum", "per_second"),
    Kind.GAUGE: ("mean", "max"),
    Kind.DISTRIBUTION: (*PERCENTILES, "mean", "count"),
}
_ACROSS: Mapping[Across, Callable[[Sequence[float]], float]] = {
    Across.SUM: sum,
    Across.MAX: max,
    Across.MEAN: lambda values: sum(values) / len(values),
}


def statistics_of(series: Series) -> Sequence[str]:
    return _STATISTICS[series.kind]


class Point:
    """Take in stored slots, by label set; ask for statistics. Without any it is a gap."""

    __slots__ = ("_by_labels", "_series", "_total", "merged", "sketches")

    def __init__(self, series: Series) -> None:
        self._series = series
        self._total: float | None = None
        self._by_labels: dict[int, list[float]] = {}
        self.sketches: list[bytes] = []
        self.merged: Merged | None = None
        """What they say together, once `merge` has been asked."""

    def take(
        self,
        labels_id: int,
        first: float | None,
        second: float | None,
        third: float | None,
        sketch: bytes | None,
    ) -> None:
        """Add one bucket: the slots of the series, as `names.slots_of` has them."""
        if first is None:
            return
        if self._series.kind is Kind.GAUGE:
            self._take_gauge(labels_id, first, second or 0.0, third or 0.0)
            return
        self._total = first if self._total is None else self._total + first
        if sketch is not None:
            self.sketches.append(sketch)

    def statistics(self, *, seconds: float) -> dict[str, float | None]:
        """Return each statistic; `seconds` is how much of the point's time has passed."""
        if self._series.kind is Kind.GAUGE:
            return self._of_gauge()
        if self._series.kind is Kind.DISTRIBUTION:
            return self._of_distribution()
        total = self._total
        return {"sum": total, "per_second": None if total is None else total / max(seconds, 1.0)}

    def _take_gauge(self, labels_id: int, looks: float, total: float, highest: float) -> None:
        known = self._by_labels.get(labels_id)
        if known is None:
            self._by_labels[labels_id] = [looks, total, highest]
        else:
            known[0] += looks
            known[1] += total
            known[2] = max(known[2], highest)

    def _of_gauge(self) -> dict[str, float | None]:
        if not self._by_labels:
            return {"mean": None, "max": None}
        across = _ACROSS[self._series.across]
        rows = self._by_labels.values()
        means = [total / looks for looks, total, _ in rows]
        return {"mean": across(means), "max": across([highest for *_, highest in rows])}

    def _of_distribution(self) -> dict[str, float | None]:
        merged = self.merged
        if merged is None or not merged.count or self._total is None:
            return dict.fromkeys(_STATISTICS[Kind.DISTRIBUTION])
        percentiles = dict(zip(PERCENTILES, merged.percentiles, strict=True))
        return {**percentiles, "mean": self._total / merged.count, "count": float(merged.count)}


def merge(points: Iterable[Point]) -> None:
    """Have every point know what its sketches say together: all of them are read at once."""
    with_sketches = [each for each in points if each.sketches]
    owners = chain.from_iterable(
        repeat(at, len(each.sketches)) for at, each in enumerate(with_sketches)
    )
    merged_sketches = merged_percentiles(
        [sketch for each in with_sketches for sketch in each.sketches], list(owners),
        many=len(with_sketches), shares=[*PERCENTILES.values()],
    )  # fmt: skip
    for point, merged in zip(with_sketches, merged_sketches, strict=True):
        point.merged = merged

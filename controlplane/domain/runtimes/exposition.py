"""An engine's Prometheus page -> numbers under the names used here, by a table of names."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

_LINE = re.compile(r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")
_BUCKET_EDGE = re.compile(r'le="(?P<edge>[^"]+)"')
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def read_exposition(
    text: str, *, plain: Mapping[str, str], histograms: Mapping[str, str]
) -> dict[str, float]:
    """Return each known metric by our name; histograms as count, sum, and estimated quantiles.

    Quantiles are over the engine's whole life, series of several labels are added up. What is
    unknown or malformed is left out.
    """
    metrics: dict[str, float] = {}
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for name, labels, value in _samples(text):
        if name in plain:
            _add(metrics, plain[name], value)
            continue
        base, _, part = name.rpartition("_")
        if base not in histograms:
            continue
        if part in ("count", "sum"):
            _add(metrics, f"{histograms[base]}_{part}", value)
        elif part == "bucket" and (edge := _BUCKET_EDGE.search(labels)):
            buckets[histograms[base]][_number(edge["edge"])] += value
    for ours, counted in buckets.items():
        found = _quantiles(sorted(counted.items()))
        metrics |= {f"{ours}_{label}": value for label, value in found}
    return metrics


def _add(metrics: dict[str, float], name: str, value: float) -> None:
    metrics[name] = metrics.get(name, 0.0) + value


def _samples(text: str) -> Iterator[tuple[str, str, float]]:
    for line in text.splitlines():
        if line.startswith("#") or not (match := _LINE.match(line.strip())):
            continue
        value = _number(match["value"])
        if math.isfinite(value):
            yield match["name"], match["labels"] or "", value


def _quantiles(counted: list[tuple[float, float]]) -> Iterator[tuple[str, float]]:
    total = counted[-1][1] if counted else 0.0
    if total <= 0:
        return
    for label, share in _QUANTILES.items():
        yield label, _quantile(counted, share * total)


def _quantile(counted: list[tuple[float, float]], rank: float) -> float:
    """Return the value at a rank by linear interpolation within its bucket."""
    lower_edge, lower_count = 0.0, 0.0
    for edge, count in counted:
        if count >= rank:
            if math.isinf(edge):
                return lower_edge
            width = count - lower_count
            share = (rank - lower_count) / width if width else 1.0
            return lower_edge + (edge - lower_edge) * share
        lower_edge, lower_count = edge, count
    return lower_edge


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan

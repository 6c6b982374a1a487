"""An engine's Prometheus page -> numbers under the names used here, by a table of names."""

import contextlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from controlplane.domain.draft_positions import POSITIONS, series_of

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_PARTS = ("count", "sum", "bucket")


def read_exposition(
    text: str,
    *,
    plain: Mapping[str, str],
    histograms: Mapping[str, str],
    accepted_by_position: str = "",
) -> dict[str, float]:
    """Return each known metric by our name; histograms as count, sum, and estimated quantiles.

    Quantiles are over the engine's whole life, series of several labels are added up. What is
    unknown or malformed is left out. `accepted_by_position` counts drafts by a label `position`,
    from zero: of some positions it is told.
    """
    metrics: dict[str, float] = {}
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    parts = {f"{base}_{part}": (base, part) for base in histograms for part in _PARTS}
    for sample in _samples(text, {*plain, *parts, accepted_by_position}):
        if sample.name == accepted_by_position:
            _add_position(metrics, sample)
            continue
        if sample.name in plain:
            _add(metrics, plain[sample.name], sample.value)
            continue
        base, part = parts[sample.name]
        if part != "bucket":
            _add(metrics, f"{histograms[base]}_{part}", sample.value)
        else:
            buckets[histograms[base]][float(sample.labels["le"])] += sample.value
    for ours, counted in buckets.items():
        quantiles = _quantiles(sorted(counted.items()))
        metrics |= {f"{ours}_{label}": value for label, value in quantiles}
    return metrics


def _add(metrics: dict[str, float], name: str, value: float) -> None:
    metrics[name] = metrics.get(name, 0.0) + value


def _add_position(metrics: dict[str, float], sample: "Sample") -> None:
    position = sample.labels.get("position", "")
    if position.isdecimal() and int(position) + 1 in POSITIONS:
        _add(metrics, f"{series_of(int(position) + 1)}_total", sample.value)


def _samples(text: str, names: Collection[str]) -> "Iterator[Sample]":
    # Of an engine's page some hundreds of lines are of metrics that nothing here reads.
    named = (line for line in text.splitlines() if _name(line) in names)
    samples = chain.from_iterable(map(_samples_of, named))
    return (sample for sample in samples if math.isfinite(sample.value))


def _name(line: str) -> str:
    return "".join(line.partition("{")[0].split(maxsplit=1)[:1])


def _samples_of(line: str) -> "list[Sample]":
    """Return the line's sample; none where it is malformed, which costs the page no other."""
    # Every process asks a runtime something, and few of them what its page says.
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = list(text_string_to_metric_families(line))
    except ValueError:
        return []
    return [sample for family in families for sample in family.samples if _has_its_edge(sample)]


def _has_its_edge(sample: "Sample") -> bool:
    return not sample.name.endswith("_bucket") or _is_number(sample.labels.get("le", ""))


def _is_number(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return not math.isnan(float(text))
    return False


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

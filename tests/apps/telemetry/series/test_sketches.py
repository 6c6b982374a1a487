"""Percentiles out of sketches, against the values themselves."""

import random
from collections.abc import Sequence

import pytest
from ddsketch import DDSketch
from hypothesis import given
from hypothesis import strategies as st

from apps.telemetry.series.percentiles import merged_percentiles
from apps.telemetry.series.sketches import RELATIVE_ERROR, Sketch, UnknownFormat


def percentiles(*sketches: Sketch, shares: tuple[float, ...]) -> Sequence[float | None]:
    stored = [each.to_bytes() for each in sketches]
    (report,) = merged_percentiles(stored, [0] * len(stored), many=1, shares=shares)
    assert report.count == sum(each.count for each in sketches)
    return report.percentiles


def exact(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


@pytest.mark.parametrize(
    "values",
    [
        [random.Random(1).lognormvariate(-1, 1.5) for _ in range(5_000)],
        [random.Random(2).uniform(0.0001, 900) for _ in range(5_000)],
        [0.25] * 7 + [1e8],
        [1e-9, 3.0],
    ],
    ids=["long tail", "uniform", "one far off", "ends"],
)
def test_percentiles_of_merged_and_stored_sketches_are_within_the_stated_error(
    values: list[float],
) -> None:
    merged, parts = Sketch(), [Sketch() for _ in range(7)]
    for place, value in enumerate(values):
        parts[place % 7].add(value)
    for part in parts:
        merged.take(part.to_bytes())
    shares = (0.0, 0.5, 0.9, 0.95, 0.99, 1.0)
    of_parts = percentiles(*parts, shares=shares)
    assert of_parts == percentiles(merged, shares=shares)
    for share, report in zip(shares, of_parts, strict=True):
        assert report == pytest.approx(exact(values, share), rel=RELATIVE_ERROR)
    assert merged.count == len(values)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_percentiles_are_those_of_the_library(values: list[float]) -> None:
    ours, theirs = Sketch(), DDSketch(RELATIVE_ERROR)
    for value in values:
        ours.add(value)
        theirs.add(value if value >= 1e-9 else 0.0)
    shares = (0.0, 0.25, 0.5, 0.9, 0.99, 1.0)
    report = [theirs.get_quantile_value(share) for share in shares]
    assert percentiles(ours, shares=shares) == pytest.approx(report)


def test_the_order_of_merging_changes_nothing() -> None:
    left, right = Sketch(), Sketch()
    for value in (0.0, 0.1, 5.0):
        left.add(value)
    right.add(70.0)
    one, other = Sketch(), Sketch()
    one.merge(left)
    one.take(right.to_bytes())
    other.merge(right)
    other.take(left.to_bytes())
    assert one.to_bytes() == other.to_bytes()
    assert percentiles(one, shares=(0.0, 1.0))[0] == 0.0


def test_nothing_has_no_percentile_and_a_newer_format_is_refused() -> None:
    assert percentiles(Sketch(), shares=(0.5,)) == percentiles(shares=(0.5,)) == [None]
    with pytest.raises(UnknownFormat, match="format 2"):
        merged_percentiles([b"\x02\x00"], [0], many=1, shares=(0.5,))
    with pytest.raises(UnknownFormat, match="format 2"):
        Sketch().take(b"\x02\x00")


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.floats(0, 1e6), max_size=9)), max_size=9))
def test_groups_that_are_read_at_once_say_what_each_says_alone(
    told: list[tuple[int, list[float]]],
) -> None:
    shares, alone = (0.0, 0.5, 1.0), [Sketch() for _ in range(4)]
    stored = []
    for group, values in told:
        sketch = Sketch()
        for value in values:
            sketch.add(value)
        stored.append(sketch.to_bytes())
        alone[group].merge(sketch)
    together = merged_percentiles(stored, [group for group, _ in told], many=4, shares=shares)
    assert [each.percentiles for each in together] == [
        percentiles(each, shares=shares) for each in alone
    ]

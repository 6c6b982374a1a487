"""Percentiles out of counted buckets."""

from apps.telemetry import buckets


def test_nothing_has_no_percentile() -> None:
    assert buckets.percentile(buckets.empty(), 0.5) is None


def test_a_percentile_lies_within_its_bucket() -> None:
    counts = buckets.empty()
    for seconds in (0.06, 0.07, 0.08, 0.09):
        counts[buckets.index_of(seconds)] += 1
    assert buckets.percentile(counts, 0.5) == 0.05 + 0.05 / 2
    assert buckets.percentile(counts, 1.0) == 0.1


def test_a_bound_belongs_to_its_own_bucket() -> None:
    assert buckets.index_of(0.05) == buckets.BUCKET_BOUNDS_SECONDS.index(0.05)


def test_what_is_past_the_last_bound_counts_as_it() -> None:
    counts = buckets.empty()
    counts[buckets.index_of(10_000)] += 1
    assert buckets.percentile(counts, 0.5) == buckets.BUCKET_BOUNDS_SECONDS[-1]


def test_counts_add_up_and_an_empty_list_adds_nothing() -> None:
    one = buckets.empty()
    one[0] = 2
    assert buckets.added(one, one)[0] == 4
    assert buckets.added([], one) == one

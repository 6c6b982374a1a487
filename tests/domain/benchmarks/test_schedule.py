"""When requests are sent, and which load comes next."""

from itertools import islice

import pytest

from controlplane.domain.benchmarks.order import Load, LoadKind
from controlplane.domain.benchmarks.schedule import arrivals, next_level


def test_arrivals_are_the_same_for_one_seed_and_come_at_the_rate_on_average():
    first, again, other = (list(islice(arrivals(50.0, seed=seed), 5000)) for seed in (1, 1, 2))

    assert first == again != other
    assert first == sorted(first)
    assert first[-1] == pytest.approx(100.0, rel=0.05)


def ramp(kind: LoadKind, begin: float, most: float, carries: float) -> list[float]:
    load = Load(kind=kind, levels=(begin, most), is_ramp=True)
    tried: list[tuple[float, bool]] = []
    while (level := next_level(load, tried)) is not None:
        tried.append((level, level <= carries))
    return [level for level, _ in tried]


def test_a_ramp_doubles_until_the_limits_break_and_then_looks_between():
    assert ramp(LoadKind.CONCURRENCY, 1, 256, carries=23) == [1, 2, 4, 8, 16, 32, 22, 26, 23]
    assert ramp(LoadKind.CONCURRENCY, 1, 256, carries=2) == [1, 2, 4, 3]


def test_a_ramp_ends_at_the_most_that_it_may_try_or_where_nothing_is_carried():
    assert ramp(LoadKind.CONCURRENCY, 4, 20, carries=99) == [4, 8, 16, 20]
    assert ramp(LoadKind.RATE, 5, 20, carries=0) == [5]


def test_a_ramp_of_rates_ends_once_it_knows_the_rate_closely():
    tried = ramp(LoadKind.RATE, 1, 100, carries=9)
    assert tried[:5] == [1, 2, 4, 8, 16]
    assert 8 < max(level for level in tried if level <= 9) <= 9


def test_levels_are_taken_in_their_order_whatever_they_carry():
    load = Load(kind=LoadKind.CONCURRENCY, levels=(1, 8, 4))
    assert next_level(load, [(1, False)]) == 8
    assert next_level(load, [(1, True), (8, True), (4, True)]) is None

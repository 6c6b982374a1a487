"""Shapes that do harm, by a clock of the simulator's own, against the formula's own result."""

from dataclasses import replace

import pytest

from controlplane.domain.scaling.settings import ScalingSettings
from controlplane.domain.scaling.simulation import Traffic, World, simulate

SETTINGS = ScalingSettings(max_replica=20, concurrency_target=10, scale_down_delay=300)
EAGER = replace(SETTINGS, scale_down_delay=0, autoscaling_window=10)


def _traffic(*counts: int, times: int = 1) -> Traffic:
    return Traffic(arrivals=counts * times, service_seconds=8)


STEADY = _traffic(2, times=1800)  # 16 in flight: 3 replicas
EDGE = _traffic(*([1, 1, 1, 1, 1, 1, 1, 0] * 12), 2, *([1] * 6), 0, times=20)
"""7 in flight, which one replica carries, and for a moment of each cycle one more."""
SAWTOOTH = _traffic(*(at // 30 for at in range(150)), times=10)
SILENCE = _traffic(0, times=3600)


def test_steady_load_is_carried_by_what_the_formula_says():
    outcome = simulate(SETTINGS, STEADY, World(start_seconds=30))
    assert set(outcome.sizes[-600:]) == {3}
    assert outcome.waited < outcome.requests * 0.05
    assert outcome.replica_seconds < outcome.formula_replica_seconds * 1.15


def test_a_second_decider_changes_nothing():
    one, two = (simulate(EAGER, SAWTOOTH, World(deciders=count)) for count in (1, 2))
    assert one == two


@pytest.mark.parametrize("settings", [SETTINGS, EAGER], ids=["default", "eager"])
def test_without_traffic_it_sleeps_once_and_is_never_woken(settings):
    outcome = simulate(settings, SILENCE, World())
    assert (outcome.cold_starts, outcome.changes, outcome.sizes[-1]) == (0, 1, 0)


def test_one_request_is_answered_and_costs_one_start():
    lone = _traffic(*([0] * 900), 1, *([0] * 900))
    outcome = simulate(EAGER, lone, World(start_seconds=120))
    assert (outcome.cold_starts, outcome.waited, outcome.sizes[-1]) == (1, 1, 0)
    assert outcome.longest_wait_seconds <= 120 + 5
    assert outcome.highest == 1


def test_load_at_the_edge_swings_once_in_ten_windows_and_not_with_each_cycle():
    outcome = simulate(replace(SETTINGS, scale_down_delay=0), EDGE, World(start_seconds=5))
    assert outcome.turns <= len(EDGE.arrivals) / 600
    assert simulate(SETTINGS, EDGE, World(start_seconds=5)).turns == 0


def test_starts_that_fail_are_tried_again_later_and_not_more_of_them():
    never = World(start_fails=lambda number, now: True, start_seconds=1)
    outcome = simulate(SETTINGS, STEADY, never, first=0)
    assert outcome.highest == 1
    assert outcome.starts < 1800 / 50
    late = World(start_fails=lambda number, now: now < 600, start_seconds=1)
    assert simulate(SETTINGS, STEADY, late, first=0).sizes[-1] >= 3


def test_a_signal_that_is_lost_holds_the_size():
    falls = _traffic(*([5] * 600), *([0] * 1800))
    outcome = simulate(SETTINGS, falls, World(signal_is_lost=lambda now: 600 <= now < 2000))
    assert set(outcome.sizes[610:2000]) == {outcome.sizes[605]}
    assert outcome.sizes[-1] < outcome.sizes[605], "and is lowered once it is there again"

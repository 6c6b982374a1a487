"""What is decided, with a clock that is a number."""

from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.scaling.decision import Decision, Memory, Signal, Size, decide
from controlplane.domain.scaling.formula import Load
from controlplane.domain.scaling.reasons import ReasonCode
from controlplane.domain.scaling.settings import ScalingSettings

SETTINGS = ScalingSettings(
    min_replica=1, max_replica=10, concurrency_target=10, scale_down_delay=300
)


@dataclass
class Ladder:
    """A deployment that is decided for again and again; what is wanted is ready at once."""

    settings: ScalingSettings = SETTINGS
    wanted: int = 1
    now: float = 10_000.0
    memory: Memory = field(default_factory=Memory)

    def look(self, requests: float = 0.0, *, after: float = 0.0, **told: object) -> Decision:
        self.now += after
        size = Size(wanted=self.wanted, ready=self.wanted, ready_since=0.0 if self.wanted else None)
        size = replace(size, **{key: told.pop(key) for key in tuple(told) if hasattr(size, key)})
        signal = Signal(load=Load(requests=requests), **told)
        decision = decide(self.settings, signal, size, self.memory, now=self.now)
        self.wanted, self.memory = decision.wanted, decision.memory
        return decision


def test_load_that_rose_is_followed_at_the_next_decision():
    decision = Ladder().look(25)
    assert (decision.wanted, decision.reason.code) == (4, ReasonCode.LOAD_ROSE)
    assert decision.reason.sentence == "25 requests in flight over 60 s: 4 replicas for 7 each."


def test_no_more_than_the_most_are_wanted_and_the_reason_says_so():
    decision = Ladder(wanted=10).look(200)
    assert (decision.wanted, decision.by_load) == (10, 29)
    assert decision.reason.code is ReasonCode.AT_MOST
    assert "`max_replica` is 10" in decision.reason.sentence


def test_replicas_end_after_load_was_low_for_a_whole_delay_and_at_most_half_of_them_at_once():
    deployment = Ladder(wanted=10)
    first = deployment.look(1)
    assert (first.wanted, first.reason.code) == (10, ReasonCode.WAITS)
    assert first.next_at == deployment.now + 300
    assert deployment.look(1, after=299).wanted == 10
    assert deployment.look(1, after=1).wanted == 5
    assert deployment.look(1, after=299).wanted == 5, "the timer starts anew"
    assert [deployment.look(1, after=300).wanted for _ in range(3)] == [3, 2, 1]
    assert deployment.look(1, after=3000).wanted == 1, "never below the least"


def test_a_moment_of_load_begins_the_delay_anew():
    deployment = Ladder(wanted=4)
    deployment.look(1)
    deployment.look(25, after=200)
    assert deployment.look(1, after=150).wanted == 4
    assert deployment.look(1, after=300).wanted == 2


def test_the_documented_share_ends_and_one_at_the_least():
    slow = replace(SETTINGS, max_scale_down_rate=10, scale_down_delay=0, autoscaling_window=10)
    deployment = Ladder(settings=slow, wanted=10)
    assert [deployment.look(0, after=1000).wanted for _ in range(3)] == [9, 8, 7]


@pytest.mark.parametrize("requests", [0.0, 1.0])
def test_a_signal_that_is_missing_never_lowers_the_size_and_begins_the_delay_anew(requests):
    deployment = Ladder(wanted=4)
    deployment.look(requests)
    lost = deployment.look(requests, after=5000, missing="Gateway `a` is silent")
    assert (lost.wanted, lost.reason.code) == (4, ReasonCode.SIGNAL_MISSING)
    assert deployment.look(requests, after=299).wanted == 4
    assert deployment.look(requests, after=300).wanted == 2


def test_what_some_gateways_say_may_raise_the_size():
    assert Ladder().look(25, missing="Gateway `a` is silent").wanted == 4


def test_no_more_are_asked_for_while_starts_fail():
    decision = Ladder(wanted=2).look(60, ready=1, failed_starts=2)
    assert (decision.wanted, decision.reason.code) == (2, ReasonCode.STARTS_FAIL)
    assert Ladder(wanted=2).look(60, ready=2, failed_starts=0).wanted == 9


ASLEEP = replace(SETTINGS, min_replica=0)


def test_one_that_sleeps_is_woken_by_a_request_and_by_nothing_else():
    assert Ladder(settings=ASLEEP, wanted=0).look(0).wanted == 0
    assert Ladder(settings=ASLEEP, wanted=0).look(0, missing="All are silent").wanted == 0
    woken = Ladder(settings=ASLEEP, wanted=0).look(0, held=3)
    assert (woken.wanted, woken.reason.code) == (1, ReasonCode.WOKEN)
    assert woken.reason.sentence == "3 requests wait for a replica."


def test_the_last_replica_goes_after_a_whole_delay_without_a_request():
    deployment = Ladder(settings=ASLEEP, wanted=1)
    assert deployment.look(0).next_at == deployment.now + 300
    assert deployment.look(0.01, after=200).wanted == 1
    assert deployment.look(0, after=200).wanted == 1
    ended = deployment.look(0, after=300)
    assert (ended.wanted, ended.reason.code) == (0, ReasonCode.SLEEPS)


def test_one_that_was_woken_serves_before_it_sleeps_again_even_without_a_delay():
    eager = replace(ASLEEP, scale_down_delay=0)
    deployment = Ladder(settings=eager, wanted=1)
    assert deployment.look(0, ready=0, ready_since=None).wanted == 1
    assert deployment.look(0, after=400, ready=0, ready_since=None).wanted == 1, "it still loads"
    ready_since = deployment.now
    assert deployment.look(0, after=59, ready_since=ready_since).wanted == 1
    assert deployment.look(0, after=1, ready_since=ready_since).wanted == 0


def test_one_that_never_becomes_ready_is_given_up_when_nobody_asks():
    deployment = Ladder(settings=replace(ASLEEP, scale_down_delay=0), wanted=1)
    deployment.look(0, ready=0, ready_since=None)
    assert deployment.look(0, after=600, ready=0, ready_since=None).wanted == 0


def test_load_at_the_targets_edge_adds_a_replica_once():
    eager = replace(SETTINGS, scale_down_delay=0)
    deployment = Ladder(settings=eager)
    sizes = {deployment.look(load, after=5).wanted for load in (7.01, 6.99) * 50}
    assert sizes == {2}
    assert deployment.look(6.99, after=601).wanted == 1, "the formula alone, once it is calm"


def test_bounds_that_were_moved_hold_at_once_whatever_the_signal():
    narrow = Ladder(settings=replace(SETTINGS, max_replica=3), wanted=8)
    assert narrow.look(50, missing="All are silent").wanted == 3
    floor = Ladder(settings=replace(SETTINGS, min_replica=5), wanted=0)
    assert floor.look(0).wanted == 5

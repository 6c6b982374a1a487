"""Hints wake the agent's loop, and none is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS
from workers.agent.hints import BREATH_SECONDS, Bell, Hints


@pytest.fixture
def hints() -> Iterator[Hints]:
    """Hints that SIGUSR1 stops, as SIGTERM stops an agent's."""
    outcome = Hints("", "host-1")
    before = signal.signal(signal.SIGUSR1, lambda *_: outcome.stop())
    yield outcome
    signal.signal(signal.SIGUSR1, before)


def test_hints_that_came_together_are_one_and_a_later_one_is_heard(hints: Hints) -> None:
    hints.note()
    hints.note()
    assert hints.wait(DEADLINE_SECONDS)
    assert not hints.wait(0)
    hints.note()
    assert hints.wait(DEADLINE_SECONDS)


def test_a_signal_wakes_the_loop(hints: Hints) -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    assert hints.wait(DEADLINE_SECONDS)


def test_a_hint_that_comes_while_nobody_waits_is_kept() -> None:
    bell = Bell()
    bell.set()
    assert bell.wait(0)
    assert bell.is_set(), "to be heard until it is cleared"
    bell.clear()
    assert not bell.wait(0)


def test_a_flood_of_hints_is_kept_as_one() -> None:
    bell = Bell()
    for _ in range(100_000):
        bell.set()
    assert bell._rings.qsize() == 1


def test_a_flood_of_hints_is_followed_four_times_a_second() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    hints = Hints("", "host-1", clock=clock)
    for _ in range(4):
        hints.note()
        assert hints.wait(0)
    assert clock.slept == [BREATH_SECONDS] * 3
    clock.advance(BREATH_SECONDS)
    hints.note()
    assert hints.wait(0)
    assert len(clock.slept) == 3, "one that comes alone waits for nothing"


def test_a_broker_that_does_not_answer_is_asked_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock(sleeping_moves_it=True)
    hints = Hints("redis://127.0.0.1:9/0", "host-1", clock=clock)

    def consume() -> None:
        if len(clock.slept) == 8:
            hints.stop()
            return
        raise OSError("nobody there")

    monkeypatch.setattr(hints, "_consume", consume)
    hints._listen()
    assert clock.slept == [0.5, 1, 2, 4, 8, 15, 15, 15]

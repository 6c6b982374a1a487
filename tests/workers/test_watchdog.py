"""A loop that has stopped turning ends its process, and nothing else does."""

import pytest

from tests.manual_clock import ManualClock
from workers.watchdog import MOST_TICKS, TICK_SECONDS, Watchdog


class Watched:
    """A watchdog whose ticks the test makes; `ends` counts how often it would end the process."""

    def __init__(self) -> None:
        self.clock, self.ends = ManualClock(), 0
        self.dog = Watchdog(clock=self.clock, end=self._end)

    def tick(self, times: int = 1, *, seconds: float = TICK_SECONDS) -> None:
        for _ in range(times):
            self.clock.advance(seconds)
            self.dog.tick()

    def _end(self) -> None:
        self.ends += 1


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_thirty_ticks_without_a_turn_end_the_process(watched: Watched) -> None:
    assert MOST_TICKS * TICK_SECONDS == 30
    watched.tick(MOST_TICKS - 1)
    assert watched.ends == 0
    watched.tick()
    assert watched.ends == 1


def test_a_turn_between_any_two_ticks_begins_the_count_anew(watched: Watched) -> None:
    for _ in range(3):
        watched.tick(MOST_TICKS - 1)
        watched.dog.turned()
        watched.tick()
    assert watched.ends == 0


def test_a_machine_that_stood_still_has_not_held_the_loop_up(watched: Watched) -> None:
    watched.tick(MOST_TICKS - 1)
    watched.tick(seconds=3600)
    watched.tick(MOST_TICKS - 1)
    assert watched.ends == 0

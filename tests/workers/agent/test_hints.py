"""Hints wake the agent's loop, and none is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from workers.agent.hints import Hints


@pytest.fixture
def hints() -> Iterator[Hints]:
    """Hints that SIGUSR1 stops, as SIGTERM stops an agent's."""
    found = Hints("", "host-1")
    before = signal.signal(signal.SIGUSR1, lambda *_: found.stop())
    yield found
    signal.signal(signal.SIGUSR1, before)


def test_hints_that_came_together_are_one_and_a_later_one_is_heard(hints: Hints) -> None:
    hints.note()
    hints.note()
    assert hints.wait(60)
    assert not hints.wait(0)
    hints.note()
    assert hints.wait(60)


def test_a_signal_wakes_the_loop(hints: Hints) -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    assert hints.wait(60)

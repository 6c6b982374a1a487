"""How soon a worker connects to its broker again."""

from controlplane.broker_pause import PAUSE_SECONDS, BrokerPause
from controlplane.celery import app
from tests.manual_clock import ManualClock


def test_only_a_connection_that_ended_at_once_is_followed_by_a_pause() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    step = BrokerPause(None, clock=clock)
    step.start(None)
    assert clock.slept == []
    step.start(None)
    assert clock.slept == [PAUSE_SECONDS]
    clock.advance(PAUSE_SECONDS)
    step.start(None)
    assert clock.slept == [PAUSE_SECONDS]


def test_workers_pause_so() -> None:
    assert BrokerPause in app.steps["consumer"]

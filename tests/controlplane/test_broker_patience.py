"""How soon a worker connects to its broker again."""

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from controlplane import beat
from controlplane.broker_patience import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, BrokerPause
from controlplane.celery import app
from tests.loopback_server import nobody_listens
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


@pytest.mark.parametrize("asking", [app, beat.app], ids=["worker", "scheduler"])
def test_a_broker_that_is_away_for_long_is_asked_every_few_seconds(
    asking: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)
    pauses: list[float] = []
    with (
        nobody_listens() as address,
        asking.connection_for_read(f"redis://{address}/0") as connection,
        pytest.raises(OperationalError),
    ):
        connection.ensure_connection(lambda _error, seconds: pauses.append(seconds), 50)
    assert len(pauses) >= 50
    assert max(pauses) == LONGEST_PAUSE_SECONDS

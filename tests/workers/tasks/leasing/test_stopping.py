"""A worker knows that it is being stopped, and cannot hang over being told twice."""

import pytest
from celery.signals import worker_shutting_down
from celery.worker import state

import workers.tasks
from workers.tasks.leasing import STOPPING


@pytest.mark.parametrize("flag", ["should_stop", "should_terminate"])
def test_it_is_set_by_what_celery_notes(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not STOPPING.is_set()
    monkeypatch.setattr(state, flag, 0)
    assert STOPPING.is_set()


def test_nobody_receives_what_celery_sends_from_its_handler_of_sigterm() -> None:
    assert workers.tasks.build is not None
    assert worker_shutting_down.receivers == []
